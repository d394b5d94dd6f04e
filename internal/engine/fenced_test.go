package engine

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/work"
	"github.com/spillway-io/spillway/internal/retry"
)

// TestReopened: what could not be written for a minute is written when the Lease is renewed, and not when its back-off is
// over. That costs one request for each object, as without it. What has failed for another reason keeps its back-off.
func TestReopened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const objects = 50
		var expired atomic.Bool
		var tries, requests atomic.Int32
		f := &fenced{closed: func() error {
			if expired.Load() {
				return errors.New("expired")
			}
			return nil
		}}
		workers := work.New(reconcile.TypedFunc[decide.Key](func(_ context.Context, key decide.Key) (reconcile.Result, error) {
			if tries.Add(1); f.closed() != nil || key.Name == "refused" {
				f.failed(key)
				return reconcile.Result{}, errors.New("it cannot be written")
			}
			requests.Add(1)
			return reconcile.Result{}, nil
		}))
		f.enqueue = func(keys ...decide.Key) { workers.Enqueue(work.Normal, keys...) }
		workers.Add("pod", 16, retry.Backoff[decide.Key]())
		ctx, stop := context.WithCancel(t.Context())
		expired.Store(true)
		go func() {
			_ = workers.Run(ctx, func(context.Context) error {
				for i := range objects {
					f.enqueue(decide.Key{Kind: "pod", NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}})
				}
				return nil
			})
		}()
		time.Sleep(time.Minute)
		synctest.Wait()
		expired.Store(false)
		f.enqueue(decide.Key{Kind: "pod", NamespacedName: types.NamespacedName{Name: "refused"}})
		synctest.Wait()
		before := tries.Load()
		f.reopened()
		synctest.Wait()
		if tries.Load() != before+objects || requests.Load() != objects {
			t.Errorf("%d tries and %d requests when the Lease was renewed, want %d each", tries.Load()-before, requests.Load(), objects)
		}
		before = tries.Load()
		f.reopened()
		synctest.Wait()
		if tries.Load() != before {
			t.Errorf("%d tries at the next renewal", tries.Load()-before)
		}
		stop()
		synctest.Wait()
	})
}

// TestReopenedMeanwhile: an object is not forgotten whose failure is noted after the Lease was renewed.
func TestReopenedMeanwhile(t *testing.T) {
	asked, enqueued := 0, 0
	f := &fenced{enqueue: func(keys ...decide.Key) { enqueued += len(keys) }, closed: func() error {
		if asked++; asked == 1 {
			return errors.New("expired")
		}
		return nil
	}}
	f.failed(decide.Key{Kind: "pod"})
	if enqueued != 1 {
		t.Errorf("%d objects are enqueued", enqueued)
	}
}
