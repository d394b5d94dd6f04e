//go:build bench

package performance

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// counted rolls each case out with the manager in this process, whose transports count its requests. That
// shows which writes change nothing, and whether the audit logs are right. Then it measures the reaction to
// one change at a time.
func (b *podsRig) counted(t *testing.T, cases ...PodsCase) {
	b.stop(t)
	counter, reactions := requests.NewCounter(), newReactions(b.Consumer.ID)
	began := time.Now()
	manager, err := b.StartWrapped(t.Context(), consumerID, func(cluster string, next http.RoundTripper) http.RoundTripper {
		return counter.WrapNamed(cluster, reactions.wrap(cluster, next))
	})
	must(t, err)
	defer func() { must(t, manager.Stop()) }()
	must(t, b.Settled(t.Context(), began, patience))
	var columns []column
	for _, c := range cases {
		columns = append(columns, b.count(t, c, counter))
	}
	show(t, "counted by the manager's transports", columns...)
	show(t, "one change at a time, from its arrival to its write", column{"", b.react(t, reactions)})
}

// count rolls out one case.
func (b *podsRig) count(t *testing.T, c PodsCase, counter *requests.Counter) column {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := b.prepare(ctx, c, Ours)
	must(t, err, r.settle(ctx))
	audited, err := figuresOf(b.audits)
	must(t, err)
	own := counter.Figures()
	_, err = r.run(ctx, func() error { return nil })
	must(t, err, r.settle(ctx))
	figures := counter.Figures().Since(own)
	differ := differencesTo(t, b.audits, func(after requests.Figures) []string {
		return differences(counter.Figures().Since(own), after.Since(audited))
	})
	b.say("%s, counted by the manager's transports:\n%s", c, requestsOf(figures, c.N))
	return column{c.String(), []figure{
		count("writes that change nothing", figures.Sum(requests.OnlyWork).NoOps).exactly(0),
		count("differences to the audit logs", len(differ)).exactly(0),
	}}
}

// oneAtATime is how many changes are made one by one to time the reaction.
const oneAtATime = 200

// react changes the status of one remote pod again and again. It measures how long the manager takes to
// forward a change when it has nothing else to do.
func (b *podsRig) react(t *testing.T, reactions *reactions) []figure {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := b.prepare(ctx, PodsCase{N: 1, Providers: 1}, Ours)
	must(t, err)
	_, err = r.run(ctx, func() error {
		for i := range oneAtATime {
			if err := r.changeOne(ctx, reactions, int32(i+1)); err != nil {
				return err
			}
		}
		return nil
	})
	must(t, err)
	timing, samples := reactions.timing()
	return []figure{
		count("changes", samples).exactly(oneAtATime),
		measured("ms, p50", "%.1f", 1000*timing.P50), measured("ms, p99", "%.1f", 1000*timing.P99),
	}
}

// changeOne sets the restart count of the pod's container, and waits until the consumer shows it.
func (r *rollOut) changeOne(ctx context.Context, reactions *reactions, restarts int32) error {
	before := r.shown.statusChanges()
	reactions.expect()
	patch := fmt.Appendf(nil, `{"status":{"containerStatuses":[{"name":"app","restartCount":%d}]}}`, restarts)
	if err := r.patchRemote(ctx, patch); err != nil {
		return err
	}
	return rig.Eventually(ctx, patience, func(context.Context) error {
		if r.shown.statusChanges() == before {
			return fmt.Errorf("the restart %d does not show", restarts)
		}
		return r.shown.ended()
	})
}

// patchRemote patches the status of the only remote pod.
func (r *rollOut) patchRemote(ctx context.Context, patch []byte) error {
	_, err := r.providers[0].CoreV1().Pods(r.remoteNamespace(Ours)).
		Patch(ctx, r.podName(0), types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
