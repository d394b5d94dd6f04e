//go:build bench

package performance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/kubernetes"

	"github.com/spillway-io/spillway/test/performance/measure"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// quiet is how long the manager has asked for nothing when a phase is over.
const quiet = 1500 * time.Millisecond

// measured makes a run of ours, and measures the manager meanwhile.
func (r *rollOut) measured(ctx context.Context) (PodsRun, error) {
	var full int64
	before, err := r.reading(ctx)
	if err != nil {
		return PodsRun{}, err
	}
	if err := r.manager.ResetPeak(); err != nil {
		return PodsRun{}, err
	}
	profiled := r.profile(ctx)
	var usage measure.Usage
	run, err := r.run(ctx, func() error {
		err1 := r.settle(ctx)
		var err2, err3 error
		usage, err2 = r.manager.Usage()
		full, err3 = r.manager.HeapAfterGC(ctx)
		return errors.Join(err1, err2, err3, r.writeProfile(ctx, "heap", "heap?gc=1"), <-profiled)
	})
	if err != nil {
		return run, err
	}
	if err := r.settle(ctx); err != nil {
		return run, err
	}
	after, err := r.reading(ctx)
	if err != nil {
		return run, err
	}
	cost := costOf(after.figures.Since(before.figures))
	cost.StatusChanges = r.remote.statusChanges()
	cost.Renewals = mostRenewals(before.watches, after.at.Sub(before.at))
	cost.Slow = after.slow - before.slow
	cost.Opened = opened(before.watches, after.watches)
	cost.CPUSeconds = after.usage.CPUSeconds - before.usage.CPUSeconds
	cost.Heap, cost.Peak = full-before.heap, usage.PeakRSS-before.usage.RSS
	run.Cost = &cost
	return run, nil
}

// profile begins to write a profile of the manager's processor time, if PROFILE
// asks for one of so many seconds, and returns what tells when that is done.
func (r *rollOut) profile(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- r.writeProfile(ctx, "cpu", "profile?seconds="+os.Getenv("PROFILE")) }()
	return done
}

// writeProfile writes a profile to bin/bench, if PROFILE asks for any.
func (r *rollOut) writeProfile(ctx context.Context, kind, profile string) error {
	if os.Getenv("PROFILE") == "" {
		return nil
	}
	file := "pods-" + kind + "-" + strings.ReplaceAll(r.PodsCase.String(), "/", "-") + ".pprof"
	return r.manager.WriteProfile(ctx, profile, filepath.Join(r.output, file))
}

// reading is what the manager shows at one moment.
type reading struct {
	at      time.Time
	figures requests.Figures
	watches map[string]int // The most that have been open, as "cluster: resource".
	slow    int            // See slowWatches.
	usage   measure.Usage
	heap    int64
}

func (b *podsRig) reading(ctx context.Context) (reading, error) {
	r := reading{at: time.Now()}
	var err1, err2, err3, err4, err5 error
	r.heap, err1 = b.manager.HeapAfterGC(ctx)
	r.usage, err2 = b.manager.Usage()
	r.figures, err3 = figuresOf(b.audits)
	r.watches, err4 = b.mostWatches()
	r.slow, err5 = b.slowWatches(ctx)
	return r, errors.Join(err1, err2, err3, err4, err5)
}

// terminated is the metric of API servers for watches that they have ended
// because what is watched came faster than it was taken. Of the pods of one node
// it holds no more than ten events back (see suggestedWatchChannelSize in
// k8s.io/apiserver/pkg/storage/cacher): a kubelet has few.
const terminated = "apiserver_terminated_watchers_total"

// slowWatches is how many of those there have been, in all clusters together.
func (b *podsRig) slowWatches(ctx context.Context) (int, error) {
	total := 0
	for _, cluster := range append([]kubernetes.Interface{b.consumer}, b.providers...) {
		text, err := cluster.Discovery().RESTClient().Get().AbsPath("/metrics").SetHeader("Accept", "text/plain").DoRaw(ctx)
		if err != nil {
			return 0, fmt.Errorf("reading the metrics of an API server: %w", err)
		}
		parser := expfmt.NewTextParser(model.UTF8Validation)
		families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
		if err != nil {
			return 0, fmt.Errorf("reading the metrics of an API server: %w", err)
		}
		for _, metric := range families[terminated].GetMetric() { // Absent until the first one.
			total += int(metric.GetCounter().GetValue())
		}
	}
	return total, nil
}

// mostWatches are the most watches of the manager that have been open so far,
// whenever it was looked: one that is just being renewed is no new one then.
func (b *podsRig) mostWatches() (map[string]int, error) {
	for i, c := range b.All() {
		open, err := b.audits[i].OpenWatches()
		if err != nil {
			return nil, err
		}
		for resource, n := range open {
			b.watches[c.ID+": "+resource] = max(n, b.watches[c.ID+": "+resource])
		}
	}
	return maps.Clone(b.watches), nil
}

// settle waits until the manager has nothing left to do.
func (b *podsRig) settle(ctx context.Context) error {
	return rig.Eventually(ctx, patience, func(context.Context) error {
		for _, audit := range b.audits {
			last, err := audit.Last(requests.Finite)
			if err != nil {
				return err
			}
			if since := time.Since(last); since < quiet {
				return fmt.Errorf("the manager has made a request %s ago", since)
			}
		}
		return nil
	})
}

func costOf(f requests.Figures) Cost {
	pods := f.Sum(requests.OnlyWork, requests.Writes, requests.Resource("pods")).Requests
	reads := f.Sum(requests.OnlyWork, requests.Verb(requests.Get)).Requests + f.Sum(requests.OnlyWork, requests.Verb(requests.List)).Requests
	return Cost{
		PodWrites: pods, OtherWrites: f.Sum(requests.OnlyWork, requests.Writes).Requests - pods, Reads: reads,
		Failed:  f.Sum(requests.Finite).Failed,
		Watches: f.Sum(requests.OnlyWork, requests.Verb(requests.Watch)).Requests,
		Events:  f.Sum(func(k requests.Key) bool { return k.Class == requests.Events }).Requests,
		Rows:    f.Rows(),
	}
}

// summary is for the progress lines.
func (c *Cost) summary(n int) string {
	if c == nil {
		return ""
	}
	per := func(count int) float64 { return float64(count) / float64(n) }
	thousand := 1000 / float64(n)
	return fmt.Sprintf("; a pod: %.2f writes (U %.2f), %d reads, %d others, %d failed, %d events; 1,000 pods: %.1f CPU s, %.1f MB heap, %.0f MB peak",
		per(c.PodWrites), per(c.StatusChanges), c.Reads, c.OtherWrites, c.Failed, c.Events, c.CPUSeconds*thousand, inMB(c.Heap)*thousand, inMB(c.Peak)*thousand)
}
