// Package run plays the scenarios of the fault harness with the faults of every recipe, on several lanes at
// once. It compares each run with the one without faults.
package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spillway-io/spillway/test/faults/inject"
	"github.com/spillway-io/spillway/test/faults/oracle"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/scenario"
	"github.com/spillway-io/spillway/test/faults/world"
)

// Run says what to play.
type Run struct {
	Part     Part
	Scenario scenario.Scenario
	Recipe   recipe.Recipe
	// Want is the outcome to compare with; nil for a reference run.
	Want *Outcome
	// Restarts starts another manager at the end, which must not write anything.
	Restarts bool
	// Hold is how long nothing may be written or change after the end. It catches late retries, and beliefs
	// that the manager drops late. Default: zero.
	Hold time.Duration
	// Patience is how long to wait for a step, or the end, while nothing changes. A busy machine is slow,
	// which is no divergence. Default: 30 seconds.
	Patience time.Duration
}

// Outcome is the result of a run.
type Outcome struct {
	Points []recipe.Point
	// Times is when each of Points was about to be sent.
	Times []time.Time
	// Steps is how many points there were when each step began.
	Steps  []int
	Events map[inject.Stream]int
	Fired  []inject.Firing
	State  oracle.State
	Counts map[string]int
	// Problems are all deviations from the expected run; none is a pass.
	Problems []string
	// Log is the last requests.
	Log []string
	// Logged has the managers' logs if there are Problems, and all stacks when a step was given up.
	Logged string
	// Took is the time from the beginning to the end, without the cleanup.
	Took time.Duration
}

// Reached reports whether all faults of the recipe have happened.
func (o *Outcome) Reached(r recipe.Recipe) bool { return len(o.Fired) == len(r) }

const (
	defaultPatience = 30 * time.Second
	// atMost bounds the wait for a step while things keep changing.
	atMost = 3 * time.Minute
	// prepareWithin bounds what comes before the faults.
	prepareWithin = 2 * time.Minute
	// calm is how long nothing must be written for a run to be at rest, and settled the same for its
	// beginning.
	calm, settled = 700 * time.Millisecond, 300 * time.Millisecond
	// sure is calm for a reference run. It is longer than the manager delays a write to combine several
	// changes. Other runs need not wait as long: they wait for the end state of the reference.
	sure = 5 * time.Second
	// excess and slack bound the writes of a run: excess times as many as the reference, plus slack. Runs
	// with a cut or a held watch have slackOfCuts instead, because the manager retries what it cannot do.
	excess, slack, slackOfCuts = 3, 15, 50
)

// Lane is a lane of the world, with its ledger.
type Lane struct {
	*world.Lane
	Ledger *oracle.Ledger
}

// Play plays a run on a lane. An error means that the harness has failed, not the manager, and that there is
// no result.
func (l *Lane) Play(ctx context.Context, r Run) (*Outcome, error) {
	if r.Patience == 0 {
		r.Patience = max(defaultPatience, r.Scenario.Patience)
	}
	w, err := l.Begin(ctx)
	if err != nil {
		return nil, err
	}
	outcome, err := l.play(ctx, w, r)
	if outcome != nil && len(outcome.Problems) > 0 {
		outcome.Logged += w.Log.String()
	}
	return outcome, errors.Join(err, w.End(context.WithoutCancel(ctx)))
}

func (l *Lane) play(ctx context.Context, w *world.World, r Run) (*Outcome, error) {
	if err := l.Ledger.Begin(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	s, err := newSession(ctx, w, l.Ledger, meanwhile(r))
	if err != nil {
		return nil, err
	}
	defer s.stop()
	o := &Outcome{}
	if err := l.prepare(ctx, s, r.Scenario); err != nil {
		o.problem("before any fault: %v", err)
		o.Log = s.injector.Log()
		return o, ctx.Err()
	}
	s.injector.Arm(r.Recipe)
	for _, step := range r.Scenario.Steps {
		s.injector.Note("step: " + step.Name)
		o.Steps = append(o.Steps, len(s.injector.Points()))
		err := l.take(ctx, s, step, r.Patience)
		if disturbed := (disturbance{}); errors.As(err, &disturbed) {
			return nil, fmt.Errorf("step %q: %w", step.Name, err)
		}
		if err != nil {
			o.problem("step %q: %v", step.Name, err)
			o.Logged = stacks()
			break
		}
	}
	s.injector.Note("no steps are left")
	if err := l.compare(ctx, s, r, o); err != nil {
		return nil, err
	}
	s.injector.Note("at rest, and compared")
	if r.Hold > 0 && len(o.Problems) == 0 {
		if err := l.hold(ctx, s, r, o); err != nil {
			return nil, err
		}
	}
	o.Points, o.Times, o.Events, o.Fired = s.injector.Points(), s.injector.Times(), s.injector.Events(), s.injector.Fired()
	if r.Restarts && len(o.Problems) == 0 {
		if err := l.again(ctx, s, o); err != nil {
			return nil, err
		}
	}
	s.injector.Note("over")
	o.Problems = append(o.Problems, s.allProblems()...)
	o.Problems = append(o.Problems, s.injector.Problems()...)
	o.Problems = append(o.Problems, r.excesses(o)...)
	if w.Log.Panicked() {
		o.problem("a manager has panicked; its log says where")
	}
	o.Log = s.injector.Log()
	o.Took = time.Since(began)
	return o, ctx.Err()
}

func (o *Outcome) problem(format string, args ...any) {
	o.Problems = append(o.Problems, fmt.Sprintf(format, args...))
}

// prepare prepares the world for the first step, and waits until the manager rests.
func (l *Lane) prepare(ctx context.Context, s *session, of scenario.Scenario) error {
	if of.Prepare != nil {
		ctx, cancel := context.WithTimeout(ctx, prepareWithin)
		defer cancel()
		if err := of.Prepare(ctx, s.world); err != nil {
			return err
		}
	}
	return l.rests(ctx, s, settled)
}

// take takes one step.
func (l *Lane) take(ctx context.Context, s *session, step scenario.Step, patience time.Duration) error {
	if step.Do != nil {
		bounded, cancel := context.WithTimeout(ctx, prepareWithin)
		defer cancel()
		if err := step.Do(bounded, s.world); unanswered(err) {
			return disturbance{err}
		} else if err != nil {
			return err
		}
	}
	if step.Until == nil {
		return nil
	}
	return l.eventually(ctx, s, patience, func(ctx context.Context) error { return step.Until(ctx, s.world) })
}

// compare waits until the run is at rest and its state equals the reference. What still differs then is a
// problem. A violation is a problem at once.
func (l *Lane) compare(ctx context.Context, s *session, r Run, o *Outcome) error {
	var violations []string
	var failed error
	rest := calm
	if r.Want == nil {
		rest = sure
	}
	missing := l.eventually(ctx, s, r.Patience, func(ctx context.Context) error {
		if since := time.Since(l.lastChange(s)); since < rest {
			return fmt.Errorf("something was written %s ago: it does not come to rest", since.Round(time.Millisecond))
		}
		if failed = l.read(ctx, o); failed != nil {
			return nil
		}
		if since := time.Since(l.lastChange(s)); since < rest {
			return fmt.Errorf("something was written %s ago, while it was looked at", since.Round(time.Millisecond))
		}
		violations = l.Ledger.Violations()
		if len(violations) > 0 || len(o.Problems) > 0 {
			return nil // No later change makes up for it.
		}
		return r.differences(o)
	})
	if failed != nil {
		return failed
	}
	o.Problems = append(o.Problems, violations...)
	if missing != nil {
		o.problem("%v", missing)
	}
	return ctx.Err()
}

// read reads the end state.
func (l *Lane) read(ctx context.Context, o *Outcome) error {
	if err := l.Ledger.Settle(ctx); err != nil {
		return err
	}
	var err error
	if o.State, err = l.Ledger.State(); err != nil {
		return err
	}
	o.State, o.Counts = tolerated(o.State), l.Ledger.Counts()
	return nil
}

// differences returns how the end of a run differs from the reference.
func (r Run) differences(o *Outcome) error {
	if r.Want == nil {
		return nil
	}
	var all []error
	if diff := oracle.Diff(r.Want.State, o.State); diff != "" {
		all = append(all, errors.New("the end state differs:\n"+diff))
	}
	if diff := oracle.DiffCounts(r.Want.Counts, o.Counts); diff != "" {
		all = append(all, errors.New("the numbers of objects differ:\n"+diff))
	}
	return errors.Join(all...)
}

// excesses returns a problem if the run wrote far more than the reference. A fault leads to some more tries,
// a loop to hundreds.
func (r Run) excesses(o *Outcome) []string {
	more := slack
	if slices.ContainsFunc(r.Recipe, func(f recipe.Fault) bool { return f.Kind.IsCut() || f.Kind == recipe.WatchHold }) {
		more = slackOfCuts
	}
	if r.Want == nil || len(o.Points) <= excess*len(r.Want.Points)+more {
		return nil
	}
	return []string{fmt.Sprintf("there were %d writes; without any fault there are %d", len(o.Points), len(r.Want.Points))}
}
