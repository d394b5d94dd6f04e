package run

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/spillway-io/spillway/test/faults/inject"
	"github.com/spillway-io/spillway/test/faults/oracle"
	"github.com/spillway-io/spillway/test/faults/recipe"
	"github.com/spillway-io/spillway/test/faults/scenario"
)

// record is one result; only one of its pointers is set. The report is the sum of all records, from one
// process or several.
type record struct {
	// At is when it was recorded, in seconds after the session began.
	At        float64
	Header    *Header    `json:",omitempty"`
	Session   *Session   `json:",omitempty"`
	Reference *reference `json:",omitempty"`
	Run       *played    `json:",omitempty"`
	Repeated  *repeated  `json:",omitempty"`
	Caught    *Caught    `json:",omitempty"`
	// Again is how many runs were repeated because the harness had failed.
	Again int `json:",omitempty"`
	// Ended is true if everything requested has been done.
	Ended bool `json:",omitempty"`
}

// Header says what the records of a file belong to.
type Header struct {
	// Code is the fingerprint of the manager and the harness.
	Code string
	// Settings are the requested settings.
	Settings string
	Shard    Shard
}

// Session is one process that worked on a shard.
type Session struct {
	Date, Machine string
	Lanes         int
	// Shard is the shard it worked on, and Seconds for how long.
	Shard   string
	Seconds float64
}

// reference is what later runs need of a reference run.
type reference struct {
	Part     Part
	Scenario string
	Points   []recipe.Point
	Times    []time.Time
	Steps    []int
	Events   []events
	State    oracle.State
	Counts   map[string]int
}

// events is the number of events of a watch: JSON has no keys with two fields.
type events struct {
	Stream inject.Stream
	N      int
}

func referenceOf(part Part, scenario string, o *Outcome) *reference {
	r := &reference{
		Part: part, Scenario: scenario, Points: o.Points, Times: o.Times, Steps: o.Steps, State: o.State, Counts: o.Counts,
	}
	for stream, n := range o.Events {
		r.Events = append(r.Events, events{stream, n})
	}
	slices.SortFunc(r.Events, func(a, b events) int {
		return cmp.Or(cmp.Compare(a.Stream.Cluster, b.Stream.Cluster), cmp.Compare(a.Stream.Resource, b.Stream.Resource))
	})
	return r
}

// outcome is the reverse of referenceOf.
func (r *reference) outcome() *Outcome {
	o := &Outcome{
		Points: r.Points, Times: r.Times, Steps: r.Steps, Events: map[inject.Stream]int{}, State: r.State, Counts: r.Counts,
	}
	for _, e := range r.Events {
		o.Events[e.Stream] = e.N
	}
	return o
}

// played is a run, and what the report needs of it.
type played struct {
	Part             Part
	Scenario, Recipe string
	// Second is true for the second of the two runs without faults, which is compared with the first.
	Second   bool          `json:",omitempty"`
	Restarts bool          `json:",omitempty"`
	Hold     time.Duration `json:",omitempty"`
	Seconds  float64
	Reached  bool
	// Hit are the points at which a fault happened.
	Hit       []string  `json:",omitempty"`
	Problems  []string  `json:",omitempty"`
	Isolation Isolation `json:",omitzero"`
	// Next are the recipes that follow from the run.
	Next []string `json:",omitempty"`
}

func playedOf(r Run, o *Outcome, next []recipe.Recipe) *played {
	p := &played{
		Part: r.Part, Scenario: r.Scenario.Name, Recipe: r.Recipe.String(), Second: len(r.Recipe) == 0 && r.Want != nil,
		Restarts: r.Restarts, Hold: r.Hold, Seconds: o.Took.Seconds(), Reached: o.Reached(r.Recipe), Problems: o.Problems,
	}
	for _, firing := range o.Fired {
		p.Hit = append(p.Hit, firing.At.String())
	}
	for _, following := range next {
		p.Next = append(p.Next, following.String())
	}
	p.Isolation.note(r, o)
	return p
}

// key identifies the run among all runs.
func (p *played) key() string { return keyOf(p.Part, p.Scenario, p.Recipe) }

func keyOf(part Part, scenario, of string) string { return string(part) + " " + scenario + " " + of }

// run returns the run, without the reference to compare it with.
func (p *played) run(scenarios []scenario.Scenario) (Run, error) {
	r := Run{Part: p.Part, Restarts: p.Restarts, Hold: p.Hold}
	var err error
	if r.Recipe, err = recipe.Parse(p.Recipe); err != nil {
		return r, err
	}
	if i := slices.IndexFunc(scenarios, func(s scenario.Scenario) bool { return s.Name == p.Scenario }); i >= 0 {
		r.Scenario = scenarios[i]
	}
	return r, nil
}

// repeated is the result of repeating a divergence.
type repeated struct {
	Part              Part
	Command, Smallest string
	Again             bool
	Isolation         Isolation `json:",omitzero"`
}

// progress is what has been done, by this process or earlier ones.
type progress struct {
	references map[string]*reference
	played     map[string]*played
	ended      bool
}

func newProgress() *progress {
	return &progress{references: map[string]*reference{}, played: map[string]*played{}}
}

func (p *progress) apply(r record) {
	switch {
	case r.Reference != nil:
		p.references[r.Reference.Scenario] = r.Reference
	case r.Run != nil && (r.Run.Second || r.Run.Recipe != ""):
		p.played[r.Run.key()] = r.Run
	case r.Ended:
		p.ended = true
	}
}

// outcomes returns the outcomes of the reference runs.
func (p *progress) outcomes() map[string]*Outcome {
	all := map[string]*Outcome{}
	for name := range maps.Keys(p.references) {
		all[name] = p.references[name].outcome()
	}
	return all
}
