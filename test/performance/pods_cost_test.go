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

	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/performance/measure"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

// quiet is how long no request must come for a phase to be over.
const quiet = 1500 * time.Millisecond

// measured makes a run, and measures the manager or the floor, and the API servers.
func (r *rollOut) measured(ctx context.Context) (PodsRun, error) {
	var full reading
	before, err := r.reading(ctx)
	if err != nil {
		return PodsRun{}, err
	}
	if err := r.manager.ResetPeak(); err != nil {
		return PodsRun{}, err
	}
	profiled := r.profile(ctx)
	run, err := r.run(ctx, func() error {
		err1 := r.settle(ctx)
		var err2 error
		full, err2 = r.reading(ctx)
		return errors.Join(err1, err2, r.writeProfile(ctx, "heap", "heap?gc=1"), <-profiled)
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
	// Between the two phases, the benchmark itself was reading.
	run.CPU = full.began.since(before.ended).plus(after.began.since(full.ended))
	if r.way == Direct {
		return run, nil
	}
	cost := costOf(after.figures.Since(before.figures))
	cost.StatusChanges = r.remote.statusChanges()
	cost.Renewals = mostRenewals(before.watches, after.at.Sub(before.at))
	cost.Slow = after.slow - before.slow
	more := opened(before.watches, after.watches)
	if cost.Opened = len(more); len(more) > 0 {
		r.say("more watches are open: %v", more)
	}
	if r.way == Ours {
		cost.Heap, cost.Peak = full.heap-before.heap, full.usage.PeakRSS-before.usage.RSS
	}
	run.Cost = cost
	return run, nil
}

// profile begins to write a CPU profile of the manager. PROFILE is its length in seconds; if empty, there is
// none. The channel receives the result.
func (r *rollOut) profile(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- r.writeProfile(ctx, "cpu", "profile?seconds="+os.Getenv("PROFILE")) }()
	return done
}

// writeProfile writes a profile to bin/bench, if PROFILE is set.
func (r *rollOut) writeProfile(ctx context.Context, kind, profile string) error {
	if os.Getenv("PROFILE") == "" || r.way != Ours {
		return nil
	}
	file := "pods-" + kind + "-" + strings.ReplaceAll(r.PodsCase.String(), "/", "-") + ".pprof"
	return r.manager.WriteProfile(ctx, profile, filepath.Join(r.output, file))
}

// reading is the state of the manager or the floor, and of the API servers, at one moment.
type reading struct {
	at           time.Time
	began, ended CPU // Before and after the reading itself, which costs CPU time, too.
	figures      requests.Figures
	watches      map[string]int // The most watches that the manager had open, by "cluster: resource".
	slow         int            // See slowWatches.
	usage        measure.Usage  // The manager's.
	heap         int64          // The manager's.
}

func (r *rollOut) reading(ctx context.Context) (reading, error) {
	is := reading{at: time.Now()}
	var err [7]error
	is.began, err[0] = r.used()
	is.usage, err[1] = r.manager.Usage()
	if r.way == Ours {
		is.heap, err[2] = r.manager.HeapAfterGC(ctx)
	}
	is.figures, err[3] = figuresOf(r.audits)
	is.watches, err[4] = r.mostWatches()
	is.slow, err[5] = r.slowWatches(ctx)
	is.ended, err[6] = r.used()
	return is, errors.Join(err[:]...)
}

// used returns the CPU time of the manager or the floor, and of the API servers, so far.
func (r *rollOut) used() (CPU, error) {
	pid := r.manager.PID()
	if r.way == Floor {
		pid = r.floor.command.Process.Pid
	}
	process, err1 := measure.UsageOf(pid)
	consumer, err2 := apiServerSeconds(r.Consumer)
	cpu := CPU{Process: process.CPUSeconds, Consumer: consumer}
	for _, provider := range r.podsRig.Providers {
		seconds, err := apiServerSeconds(provider)
		cpu.Providers, err2 = cpu.Providers+seconds, errors.Join(err2, err)
	}
	if r.way == Direct {
		cpu.Process = 0
	}
	return cpu, errors.Join(err1, err2)
}

// apiServerSeconds returns the CPU seconds of a cluster's API server.
func apiServerSeconds(c *rig.Cluster) (float64, error) {
	return measure.CPUSecondsOf(filepath.Join(filepath.Dir(c.Kubeconfig), "bin", string(clusters.KubeAPIServer)))
}

// terminated is the API servers' metric for watches that they ended because the client fell behind. For a
// watch of one node's pods, an API server buffers only ten events (see suggestedWatchChannelSize in
// k8s.io/apiserver/pkg/storage/cacher), because a kubelet has few.
const terminated = "apiserver_terminated_watchers_total"

// slowWatches returns how many such watches there have been, in all clusters together.
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

// mostWatches returns the most watches that the manager has had open at any look so far. So a watch that is
// being renewed does not count as a new one later.
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

// settle waits until the manager or the floor has nothing left to do.
func (r *rollOut) settle(ctx context.Context) error {
	return rig.Eventually(ctx, patience, func(context.Context) error {
		for _, audit := range r.audits {
			last, err := audit.Last(requests.Finite)
			if err != nil {
				return err
			}
			if since := time.Since(last); since < quiet {
				return fmt.Errorf("by %s, a request was made %s ago", r.way, since)
			}
		}
		return nil
	})
}

// summary is for the progress lines.
func (r PodsRun) summary(n int) string {
	each := func(seconds float64) float64 { return 1000 * seconds / float64(n) }
	return fmt.Sprintf("; CPU ms a pod: %.1f consumer, %.1f providers, %.2f itself; %.2f writes a pod",
		each(r.CPU.Consumer), each(r.CPU.Providers), each(r.CPU.Process), float64(r.Cost.PodWrites)/float64(n))
}
