//go:build faults

package scenario

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

var only = flag.String("scenario", "", "play only the scenarios whose names begin with this")

func TestMain(m *testing.M) {
	flag.Parse()
	clusters.RequireBinaries()
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// TestScenarios plays each scenario once, without faults, and looks that its
// lane is empty afterwards.
func TestScenarios(t *testing.T) {
	const lanes = 2
	ctx := t.Context()
	site, err := world.Up(ctx, lanes, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := site.Down(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	})
	todo := make(chan Scenario)
	var group sync.WaitGroup
	for _, lane := range site.Lanes {
		group.Go(func() {
			for scenario := range todo {
				r := play(ctx, lane, scenario)
				fmt.Println(r)
				if r.err != nil {
					t.Error(r.err)
				}
			}
		})
	}
	for _, scenario := range slices.Concat(All(), OutOfBand(), Identity()) {
		if strings.HasPrefix(scenario.Name, *only) {
			todo <- scenario
		}
	}
	close(todo)
	group.Wait()
}

// result is what one run has come to.
type result struct {
	scenario string
	// writes are the mutating requests of the manager in the steps, without
	// leases and events; prepared are those before.
	writes, prepared int
	began            time.Time
	// Each is the end of a part.
	started, ready, done, ended time.Time
	err                         error
}

func (r result) String() string {
	seconds := func(from, to time.Time) float64 { return max(to.Sub(from).Seconds(), 0) }
	return fmt.Sprintf("%-32s %5.1f s: start %.1f, prepare %4.1f (%2d writes), steps %4.1f (%2d writes), end %.2f",
		r.scenario, seconds(r.began, r.ended), seconds(r.began, r.started), seconds(r.started, r.ready), r.prepared,
		seconds(r.ready, r.done), r.writes, seconds(r.done, r.ended))
}

func play(ctx context.Context, lane *world.Lane, s Scenario) result {
	r := result{scenario: s.Name, began: time.Now()}
	w, err := lane.Begin(ctx)
	if err != nil {
		r.err = err
		return r
	}
	r.err = r.run(ctx, w, s)
	r.done = time.Now()
	if err := w.End(ctx); r.err == nil {
		r.err = err
	}
	r.ended = time.Now()
	if r.err != nil {
		r.err = fmt.Errorf("%s: %w", s.Name, r.err)
	}
	return r
}

func (r *result) run(ctx context.Context, w *world.World, s Scenario) error {
	counter := requests.NewCounter()
	if _, err := w.StartManager(ctx, counter.WrapNamed); err != nil {
		return err
	}
	r.started, r.ready = time.Now(), time.Now()
	if s.Prepare != nil {
		if err := s.Prepare(ctx, w); err != nil {
			return fmt.Errorf("preparing: %w", err)
		}
	}
	r.ready = time.Now()
	before := counter.Figures()
	counter.Keep()
	w.Asked = func(cluster, verb, resource, name string) bool {
		return slices.ContainsFunc(counter.Log(requests.Writes), func(r requests.Request) bool {
			return r.Key.Cluster == cluster && r.Key.Verb == verb && r.Key.Resource == resource && r.Name == name
		})
	}
	r.prepared = before.Sum(requests.Writes, requests.OnlyWork).Requests
	for _, step := range s.Steps {
		if err := step.Do(ctx, w); err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
		if err := rig.Eventually(ctx, patience, func(ctx context.Context) error { return step.Until(ctx, w) }); err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
	}
	r.writes = counter.Figures().Since(before).Sum(requests.Writes, requests.OnlyWork).Requests
	return nil
}
