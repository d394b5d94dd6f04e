// Package follow waits for a state that several objects show. It looks at them again whenever one of them may
// have changed.
package follow

import (
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Watched are objects whose changes call look again.
type Watched struct {
	List    client.ObjectList
	Options []client.ListOption
}

const (
	// again is how long to wait before a watch that has ended or failed is restarted.
	again = time.Second
	// gather is how long changes are gathered before the next look.
	gather = 100 * time.Millisecond
)

// failed is an error of look after which to try again.
type failed struct{ error }

func (f failed) Unwrap() error { return f.error }

// Again wraps an error of look, such as a failed read, after which look is called again, one second later.
// NotFound is returned as it is, and ends the wait.
func Again(err error) error {
	if err == nil || apierrors.IsNotFound(err) {
		return err
	}
	return failed{err}
}

// Until calls look, and calls it again after each change of the watched objects, until look is done or fails.
// If ctx ends, Until returns its cause. Each look reads from the API server.
func Until(ctx context.Context, c client.WithWatch, watched []Watched, look func(context.Context) (done bool, err error)) error {
	changed := make(chan struct{}, 1)
	try := func() (bool, error) {
		done, err := look(ctx)
		if err != nil && ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if errors.As(err, &failed{}) {
			time.AfterFunc(again, func() { tell(changed) })
			return false, nil
		}
		return done, err
	}
	if done, err := try(); done || err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	defer stop()
	for _, one := range watched {
		go wait.UntilWithContext(watching, func(ctx context.Context) { watch(ctx, c, one, changed) }, again)
	}
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-changed:
		}
		if done, err := try(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(gather):
		}
	}
}

// watch reports each event until the watch ends. When it starts, it reports once, for the changes before
// that.
func watch(ctx context.Context, c client.WithWatch, one Watched, changed chan<- struct{}) {
	defer tell(changed)
	w, err := c.Watch(ctx, one.List.DeepCopyObject().(client.ObjectList), one.Options...)
	if err != nil {
		return
	}
	defer w.Stop()
	tell(changed)
	for {
		select {
		case <-ctx.Done():
			return
		case _, ok := <-w.ResultChan():
			if !ok {
				return
			}
			tell(changed)
		}
	}
}

func tell(changed chan<- struct{}) {
	select {
	case changed <- struct{}{}:
	default:
	}
}
