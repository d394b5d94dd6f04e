//go:build bench

package performance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/spillway-io/spillway/test/performance/measure"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// rollOut is one run: N pods are created at once in one way. When all are Ready, all are deleted.
type rollOut struct {
	*podsRig
	PodsCase
	way Way
	// number identifies the roll-out.
	number int
	// rate is how many pods are created each second, evenly. If 0, all are created at once.
	rate float64
	// shown has the pods where users see them, remote the pods in the providers.
	shown, remote *lives
	audits        []*measure.Audit // The way's requests in each cluster; empty for Direct.
}

// prepare opens the watches, and prepares what the way needs.
func (b *podsRig) prepare(ctx context.Context, c PodsCase, way Way) (*rollOut, error) {
	b.rollOuts++
	r := &rollOut{podsRig: b, PodsCase: c, way: way, number: b.rollOuts}
	var err error
	if r.remote, err = watchPods(ctx, b.remoteNamespace(way), b.providers...); err != nil {
		return nil, err
	}
	if r.shown = r.remote; way != Direct {
		r.shown, err = watchPods(ctx, b.namespace(way), b.consumer)
	}
	switch way {
	case Ours:
		r.audits = b.audits
	case Floor:
		r.audits = b.floor.audits
	}
	return r, err
}

// podName never reuses the name of an earlier pod. kwok deletes pods by name, some of them twice. A late
// second deletion would hit the next pod with that name.
func (r *rollOut) podName(i int) string { return fmt.Sprintf("web-%03d-%05d", r.number, i) }

// pods returns the client for the i-th pod, where its user creates it.
func (r *rollOut) pods(i int) typedcorev1.PodInterface {
	if r.way == Direct {
		return r.providers[i%r.Providers].CoreV1().Pods(r.namespace(r.way))
	}
	return r.consumer.CoreV1().Pods(r.namespace(r.way))
}

func (r *rollOut) create(ctx context.Context, i int) error {
	_, err := r.pods(i).Create(ctx, r.newPod(i), metav1.CreateOptions{})
	return err
}

func (r *rollOut) remove(ctx context.Context, i int) error {
	return r.pods(i).Delete(ctx, r.podName(i), metav1.DeleteOptions{})
}

// run makes the whole run. It calls between when all pods are Ready.
func (r *rollOut) run(ctx context.Context, between func() error) (PodsRun, error) {
	run := PodsRun{Way: r.way}
	began, asked, err := r.each(ctx, r.rate, r.create)
	if err != nil {
		return run, fmt.Errorf("%s by %s: creating pods: %w", r.PodsCase, r.way, err)
	}
	if err := r.await(ctx, r.shown.allReady); err != nil {
		return run, err
	}
	run.Create = r.shown.timing(asked, began, r.shown.ready)
	if err := between(); err != nil {
		return run, err
	}
	r.shown.mayGo()
	r.remote.mayGo()
	began, asked, err = r.each(ctx, 0, r.remove)
	if err != nil {
		return run, fmt.Errorf("%s by %s: deleting pods: %w", r.PodsCase, r.way, err)
	}
	if err := errors.Join(r.await(ctx, r.shown.allGone), r.await(ctx, r.remote.allGone)); err != nil {
		return run, err
	}
	run.Delete = r.shown.timing(asked, began, r.shown.gone)
	return run, nil
}

// each calls ask for all pods, several at a time, and returns the time of each call. If there is a
// rate, it makes so many calls each second, and returns when each was due. So a call that had to wait counts as late.
func (r *rollOut) each(ctx context.Context, rate float64, ask func(context.Context, int) error) (time.Time, map[string]time.Time, error) {
	var mu sync.Mutex
	asked, began := make(map[string]time.Time, r.N), time.Now()
	err := rig.ForEach(ctx, r.N, func(ctx context.Context, i int) error {
		at := time.Now()
		if rate > 0 {
			at = began.Add(time.Duration(float64(i) / rate * float64(time.Second)))
			select {
			case <-time.After(time.Until(at)):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		mu.Lock()
		asked[r.podName(i)] = at
		mu.Unlock()
		return ask(ctx, i)
	})
	return began, asked, err
}

func (r *rollOut) await(ctx context.Context, all func(int) error) error {
	var failed error // Waiting does not help against it.
	err := rig.Eventually(ctx, patience, func(context.Context) error {
		if failed = errors.Join(r.floor.failed(), r.shown.ended(), r.remote.ended()); failed != nil {
			return nil
		}
		return all(r.N)
	})
	if err := errors.Join(err, failed); err != nil {
		return fmt.Errorf("%s by %s: %w", r.PodsCase, r.way, err)
	}
	return nil
}

// roll makes one run, and prints its result.
func (b *podsRig) roll(t *testing.T, c PodsCase, way Way) PodsRun {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := b.prepare(ctx, c, way)
	must(t, err)
	run, err := r.measured(ctx)
	must(t, err)
	b.say("%-22s %-8s created in %5.1f s, %5.1f pods/s, p50 %5.2f s, p99 %5.2f s; deleted in %5.1f s, %5.1f pods/s%s", c, way,
		run.Create.Seconds, float64(c.N)/run.Create.Seconds, run.Create.P50, run.Create.P99, run.Delete.Seconds, float64(c.N)/run.Delete.Seconds, run.summary(c.N))
	return run
}
