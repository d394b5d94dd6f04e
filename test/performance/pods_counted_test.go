//go:build bench

package performance

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/metrics"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// count rolls each case out with the manager in this process, whose transports count its requests. That shows
// which writes change nothing, and whether the audit logs are right. Timings here include the benchmark.
func (b *podsRig) count(t *testing.T, cases []PodsCase, report *PodsReport) {
	must(t, b.manager.Stop())
	counter, reactions := requests.NewCounter(), newReactions(b.Consumer.ID)
	began := time.Now()
	manager, err := b.StartWrapped(t.Context(), podsConsumerID, func(cluster string, next http.RoundTripper) http.RoundTripper {
		return counter.WrapNamed(cluster, reactions.wrap(cluster, next))
	})
	must(t, err)
	defer func() { must(t, manager.Stop()) }()
	must(t, b.Settled(t.Context(), began, patience))
	for _, c := range cases {
		report.Counted = append(report.Counted, b.counted(t, c, counter))
	}
	if report.Unsaturated == (Reaction{}) {
		report.Unsaturated = b.react(t, reactions)
		if err := report.Unsaturated.Broken(oneAtATime); err != nil {
			t.Error(err)
		}
		b.say("one change at a time: %.1f ms at the median, %.1f ms at p99", 1000*report.Unsaturated.P50, 1000*report.Unsaturated.P99)
	}
}

// counted rolls out one case.
func (b *podsRig) counted(t *testing.T, c PodsCase, counter *requests.Counter) Counted {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := b.prepare(ctx, c, Ours)
	must(t, err, r.settle(ctx))
	audited, err := figuresOf(b.audits)
	must(t, err)
	own, statuses := counter.Figures(), podStatusHistogram(t)
	_, err = r.run(ctx, func() error { return nil })
	must(t, err, r.settle(ctx))
	figures := counter.Figures().Since(own)
	result := Counted{
		Case: c, NoOps: figures.Sum(requests.OnlyWork).NoOps, Saturated: podStatusHistogram(t).since(statuses).reaction(),
		Differences: differencesTo(t, b.audits, func(after requests.Figures) []string {
			return differences(counter.Figures().Since(own), after.Since(audited))
		}),
	}
	b.say("%-22s counted by the manager's transports: %d writes of pods, %d without effect, %d differences to the audit logs; change → written, ms: p50 in the bucket to %s, p99 to %s", c,
		costOf(figures).PodWrites, result.NoOps, len(result.Differences), result.Saturated.P50.milliseconds(), result.Saturated.P99.milliseconds())
	return result
}

// oneAtATime is how many changes are made one by one to time the reaction.
const oneAtATime = 200

// react changes the status of one remote pod again and again. It measures how long the manager takes to
// forward a change when it has nothing else to do.
func (b *podsRig) react(t *testing.T, reactions *reactions) Reaction {
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
	return reactions.quantiles()
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

// podStatusHistogram sums up what the manager in this process has observed for all providers.
func podStatusHistogram(t *testing.T) histogram {
	t.Helper()
	registry := prometheus.NewRegistry()
	must(t, registry.Register(metrics.PodStatus))
	families, err := registry.Gather()
	must(t, err)
	var h histogram
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			h.total += metric.GetHistogram().GetSampleCount()
			for i, bucket := range metric.GetHistogram().GetBucket() {
				if i == len(h.bounds) {
					h.bounds, h.counts = append(h.bounds, bucket.GetUpperBound()), append(h.counts, 0)
				}
				h.counts[i] += bucket.GetCumulativeCount()
			}
		}
	}
	return h
}
