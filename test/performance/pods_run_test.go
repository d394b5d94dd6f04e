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

// rollOut is one run: N pods are created at once, by one way, and when all are
// Ready, all are deleted.
type rollOut struct {
	*podsRig
	PodsCase
	way Way
	// number tells roll-outs apart.
	number int
	// shown is where users see the pods; remote are those in the providers.
	shown, remote *lives
	audits        []*measure.Audit // What the way asks for, in each cluster; empty for what runs in the provider.
}

// prepare opens the watches, and what the way needs.
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

// podName is never that of a pod that was there before. kwok deletes pods by name,
// some of them twice, and the second deletion may come late enough to hit the
// next one of that name.
func (r *rollOut) podName(i int) string { return fmt.Sprintf("web-%03d-%05d", r.number, i) }

// pods are where users make the i-th pod.
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

// run does the whole of it. between is called when all pods are Ready.
func (r *rollOut) run(ctx context.Context, between func() error) (PodsRun, error) {
	run := PodsRun{Way: r.way}
	began, asked, err := r.each(ctx, r.create)
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
	began, asked, err = r.each(ctx, r.remove)
	if err != nil {
		return run, fmt.Errorf("%s by %s: deleting pods: %w", r.PodsCase, r.way, err)
	}
	if err := errors.Join(r.await(ctx, r.shown.allGone), r.await(ctx, r.remote.allGone)); err != nil {
		return run, err
	}
	run.Delete = r.shown.timing(asked, began, r.shown.gone)
	return run, nil
}

// each asks for all pods, several at a time, and tells when it did for each.
func (r *rollOut) each(ctx context.Context, ask func(context.Context, int) error) (time.Time, map[string]time.Time, error) {
	var mu sync.Mutex
	asked, began := make(map[string]time.Time, r.N), time.Now()
	err := rig.ForEach(ctx, r.N, func(ctx context.Context, i int) error {
		mu.Lock()
		asked[r.podName(i)] = time.Now()
		mu.Unlock()
		return ask(ctx, i)
	})
	return began, asked, err
}

func (r *rollOut) await(ctx context.Context, all func(int) error) error {
	var failed error // Waiting does not mend it.
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

// roll makes one run, and tells how it went.
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
