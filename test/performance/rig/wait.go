package rig

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const interval = 50 * time.Millisecond

// Eventually calls try until it returns nil, for at most patience. Its error says what was still missing.
func Eventually(ctx context.Context, patience time.Duration, try func(context.Context) error) error {
	begin := time.Now()
	deadline, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var missing error
	for {
		err := try(deadline)
		if err == nil {
			return nil
		}
		if missing == nil || deadline.Err() == nil { // Otherwise the end of the patience caused the error.
			missing = err
		}
		select {
		case <-deadline.Done():
			return fmt.Errorf("gave up after %s: %w", time.Since(begin).Round(time.Second), missing)
		case <-ticker.C:
		}
	}
}

// parallel is how many requests the rig itself sends at a time.
const parallel = 16

// ForEach calls do with 0 … n-1, several at a time, and joins the errors.
func ForEach(ctx context.Context, n int, do func(context.Context, int) error) error {
	var mu sync.Mutex
	var errs []error
	workqueue.ParallelizeUntil(ctx, parallel, n, func(i int) {
		if err := do(ctx, i); err != nil {
			mu.Lock()
			defer mu.Unlock()
			errs = append(errs, err)
		}
	})
	return errors.Join(append(errs, ctx.Err())...)
}

// CreateAll creates n objects. An existing object is no error.
func CreateAll(ctx context.Context, c client.Client, n int, object func(int) client.Object) error {
	return ForEach(ctx, n, func(ctx context.Context, i int) error {
		if err := c.Create(ctx, object(i)); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating %T %d: %w", object(i), i, err)
		}
		return nil
	})
}

// DeleteAll deletes n objects. A missing object is no error.
func DeleteAll(ctx context.Context, c client.Client, n int, object func(int) client.Object) error {
	return ForEach(ctx, n, func(ctx context.Context, i int) error {
		if err := c.Delete(ctx, object(i)); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting %T %d: %w", object(i), i, err)
		}
		return nil
	})
}
