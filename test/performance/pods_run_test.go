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

	"github.com/spillway-io/spillway/test/performance/floor"
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
	shown, remote  *lives
	create, remove func(ctx context.Context, i int) error
	// failed is what has gone wrong with the way itself.
	failed func() error
	stop   func() error
}

// prepare opens the watches, and what the way needs.
func (b *podsRig) prepare(ctx context.Context, c PodsCase, way Way) (*rollOut, error) {
	b.rollOuts++
	r := &rollOut{podsRig: b, PodsCase: c, way: way, number: b.rollOuts, stop: func() error { return nil }, failed: func() error { return nil }}
	var err error
	if r.remote, err = watchPods(ctx, b.remoteNamespace(way), b.providers...); err != nil {
		return nil, err
	}
	if r.shown = r.remote; way != Direct {
		if r.shown, err = watchPods(ctx, b.namespace(way), b.consumer); err != nil {
			return nil, err
		}
	}
	switch way {
	case Ours:
		r.ours()
	case Floor:
		err = r.floor(ctx)
	default:
		r.direct()
	}
	return r, err
}

// podName is never that of a pod that was there before. kwok deletes pods by name,
// some of them twice, and the second deletion may come late enough to hit the
// next one of that name.
func (r *rollOut) podName(i int) string { return fmt.Sprintf("web-%03d-%05d", r.number, i) }

// ours has users create and delete the pods in the consumer.
func (r *rollOut) ours() {
	pods := r.consumer.CoreV1().Pods(r.namespace(Ours))
	r.create = func(ctx context.Context, i int) error {
		_, err := pods.Create(ctx, r.newPod(i), metav1.CreateOptions{})
		return err
	}
	r.remove = func(ctx context.Context, i int) error { return pods.Delete(ctx, r.podName(i), metav1.DeleteOptions{}) }
}

// direct does it in the providers.
func (r *rollOut) direct() {
	r.create = func(ctx context.Context, i int) error {
		pods := r.providers[i%r.Providers].CoreV1().Pods(r.namespace(Direct))
		_, err := pods.Create(ctx, r.newPod(i), metav1.CreateOptions{})
		return err
	}
	r.remove = func(ctx context.Context, i int) error {
		return r.providers[i%r.Providers].CoreV1().Pods(r.namespace(Direct)).Delete(ctx, r.podName(i), metav1.DeleteOptions{})
	}
}

// floor has package floor do it.
func (r *rollOut) floor(ctx context.Context) error {
	f := floor.Floor{Consumer: r.consumer, Providers: r.providers, Namespace: r.namespace(Floor)}
	if r.Scheduled {
		f.Nodes = map[string]int{}
		for i, provider := range r.podsRig.Providers {
			f.Nodes[floorNodeName(provider.ID)] = i
		}
	}
	running, err := f.Start(ctx)
	if err != nil {
		return err
	}
	r.create = func(ctx context.Context, i int) error {
		return running.Create(ctx, i%r.Providers, r.newPod(i))
	}
	r.remove = func(ctx context.Context, i int) error { return running.Delete(ctx, r.podName(i)) }
	r.stop, r.failed = running.Stop, running.Err
	return nil
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
	return run, r.stop()
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
		if failed = errors.Join(r.failed(), r.shown.ended(), r.remote.ended()); failed != nil {
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
	var run PodsRun
	if way == Ours {
		run, err = r.measured(ctx)
	} else {
		run, err = r.run(ctx, func() error { return nil })
	}
	must(t, err)
	b.say("%-22s %-8s created in %5.1f s, %5.1f pods/s, p50 %5.2f s, p99 %5.2f s; deleted in %5.1f s, %5.1f pods/s%s", c, way,
		run.Create.Seconds, float64(c.N)/run.Create.Seconds, run.Create.P50, run.Create.P99, run.Delete.Seconds, float64(c.N)/run.Delete.Seconds, run.Cost.summary(c.N))
	return run
}
