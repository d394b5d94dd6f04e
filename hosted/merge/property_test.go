package merge

import (
	"cmp"
	"flag"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var defaultInterleavings = 10_000

var (
	interleavings = flag.Int("interleavings", 0, "how many interleavings TestNoLostUpdates tries; by default 10,000")
	firstSeed     = flag.Uint64("seed", 1, "the seed of the first of them; the next has the next")
)

// bug changes the input or the result of the merge, as a mistake in it would.
type bug struct {
	in        func(*Input)
	plan      func(Input, *Plan)
	write     func(*Write, *cloud)
	unguarded bool
	// believes: an operation counts as done as soon as it was accepted.
	believes bool
}

// TestNoLostUpdates tries, in any order, edits on both sides, refreshes, refused requests, crashes at each
// call, and reads that lag or fail. In the end, each accepted write must be live, superseded by a writer who
// saw it, or named in a decision.
func TestNoLostUpdates(t *testing.T) {
	n := cmp.Or(*interleavings, defaultInterleavings)
	tried, failed := search(*firstSeed, n, bug{})
	if failed != nil {
		t.Fatalf("go test ./hosted/merge -run TestNoLostUpdates -interleavings 1 -seed %d\n%s", failed.seed, strings.Join(append(failed.trace, failed.violations...), "\n"))
	}
	t.Logf("%d interleavings from seed %d, no lost update", tried, *firstSeed)
}

// TestSeededBugs shows that the property can fail.
func TestSeededBugs(t *testing.T) {
	for name, b := range seededBugs {
		t.Run(name, func(t *testing.T) {
			tried, failed := search(*firstSeed, 1000, b)
			if failed == nil {
				t.Fatalf("not caught by %d interleavings", tried)
			}
			t.Logf("caught by interleaving %d: %s", failed.seed, failed.violations[0])
		})
	}
}

var seededBugs = map[string]bug{
	"nil is treated as managed": {in: func(in *Input) {
		spec, published := in.Table.read(in.Spec), in.Table.read(in.Published)
		for path, leaf := range published.at {
			if spec.at[path] == nil && (leaf.item == "" || spec.at[leaf.item] != nil) {
				spec.at[path] = leaf
			}
		}
		in.Spec = in.Table.build(spec)
	}},
	"tags of others are removed": {in: func(in *Input) {
		spec := in.Table.read(in.Spec)
		for path, leaf := range in.Table.read(in.Upstream).at {
			if spec.sets[leaf.list] != nil && spec.at[path] == nil && leaf.field.Shape == Map {
				gone := *leaf
				gone.value = nil
				spec.at[path] = &gone
			}
		}
		in.Spec = in.Table.build(spec)
	}},
	"a stale resolution decides": {in: func(in *Input) {
		in.Policies.Resolutions = slices.Clone(in.Policies.Resolutions)
		for i, r := range in.Policies.Resolutions {
			for _, c := range Merge(*in).Conflicts {
				if c.Path == r.Path {
					in.Policies.Resolutions[i].Hash = c.Hash
				}
			}
		}
	}},
	"siblings are reset by a partial message": {plan: func(_ Input, p *Plan) {
		for i, w := range p.Writes {
			message := toy.read(w.Message)
			maps.DeleteFunc(message.at, func(path string, at *leaf) bool { _, set := w.Set[path]; return !set && !at.exists })
			p.Writes[i].Message = toy.build(message)
		}
	}},
	"a fresh version with older values": {write: func(w *Write, c *cloud) { w.Version = c.now().versions[w.Item] }},
	"a request without a version":       {unguarded: true},
	"a cluster is believed to be done":  {believes: true},
	"the version is that of an answer": {write: func(w *Write, c *cloud) {
		if before := len(c.history) - 2; before >= 0 {
			w.Version = c.history[before].versions[w.Item]
		}
	}},
	"pools are in the request for the cluster": {plan: func(in Input, p *Plan) {
		for i, w := range p.Writes {
			message := toy.read(w.Message)
			for path, at := range toy.read(in.Upstream).at {
				if w.Item == "" && (at.exists || at.item != "") {
					message.at[path] = at
				}
			}
			p.Writes[i].Message = toy.build(message)
		}
	}},
	"what was sent counts as agreed":         {plan: func(_ Input, p *Plan) { rebase(p, Pushed) }},
	"what is in conflict counts as agreed":   {plan: func(_ Input, p *Plan) { rebase(p, Conflict) }},
	"what was sent is forgotten":             {in: func(in *Input) { in.Sent = nil }},
	"half a read decides":                    {in: func(in *Input) { in.Complete = true }},
	"nothing is said of what is overwritten": {plan: func(_ Input, p *Plan) { p.Decisions = nil }},
	"what is newly set wins over any value":  {in: func(in *Input) { in.Published = in.Upstream }},
	"pools that are not listed are deleted":  {in: func(in *Input) { in.Policies.Exclusive = true }},
	"pools are deleted whatever was changed in them": {in: func(in *Input) {
		in.Base = maps.Clone(in.Base)
		for path, leaf := range in.Table.read(in.Upstream).at {
			if base, ok := in.Base[path]; ok && leaf.exists && base.Upstream != Null {
				base.Upstream = leaf.text
				in.Base[path], in.Published = base, in.Upstream
			}
		}
	}},
	"a pool is gone whatever was wanted of it": {in: func(in *Input) {
		in.Base = maps.Clone(in.Base)
		upstream := in.Table.read(in.Upstream)
		for path, leaf := range in.Table.read(in.Spec).at {
			if leaf.item != "" && upstream.at[leaf.item] == nil {
				in.Base[path] = Base{true, leaf.text, Null}
			}
		}
	}},
}

func rebase(p *Plan, state State) {
	for _, leaf := range p.Leaves {
		if leaf.State == state {
			p.Base[leaf.Path] = Base{true, leaf.Spec, leaf.Upstream}
			if state == Pushed {
				p.Base[leaf.Path] = Base{true, leaf.Spec, leaf.Spec}
			}
		}
	}
}

// search tries interleavings on all processors until one finds a violation.
func search(first uint64, n int, b bug) (tried int, failed *world) {
	var lock sync.Mutex
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for {
				lock.Lock()
				seed, done := first+uint64(tried), tried == n || failed != nil
				if !done {
					tried++
				}
				lock.Unlock()
				if done {
					return
				}
				if w := newWorld(seed, b); !w.play() {
					lock.Lock()
					if failed == nil || w.seed < failed.seed {
						failed = w
					}
					lock.Unlock()
				}
			}
		})
	}
	group.Wait()
	return tried, failed
}

// crash is the value with which a call panics when the process ends.
type crash struct{}

func (w *world) play() bool {
	for range 15 {
		w.others()
		w.refresh()
	}
	w.settled = true
	for i := 0; w.writes(w.refresh) > 0; i++ {
		if i == 20 {
			w.violation("it is never quiet")
			return false
		}
	}
	w.checkEdits()
	return len(w.violations) == 0
}

// writes counts the writes of a refresh, on both sides.
func (w *world) writes(refresh func()) int {
	before := w.cloud.writes + w.revision + w.statusWrites
	refresh()
	if w.status.Op != nil {
		return 1
	}
	return w.cloud.writes + w.revision + w.statusWrites - before
}

// others lets other writers act while this process waits.
func (w *world) others() {
	if w.settled {
		return
	}
	w.now = w.now.Add(time.Second)
	switch w.IntN(8) {
	case 0, 1:
		w.console()
	case 2, 3:
		w.user()
	case 4:
		w.resolve()
	}
}

// call is the time before or after a call: others act, or the process ends.
func (w *world) call() {
	w.others()
	if !w.settled && w.IntN(20) == 0 {
		panic(crash{})
	}
}

func (w *world) refresh() {
	defer func() {
		r := recover()
		if r != nil && r != (crash{}) {
			panic(r)
		}
		if r != nil {
			w.refused, w.made = 0, 0
		}
	}()
	w.call()
	read, complete := w.read()
	in := Input{
		Table: toy, Upstream: read.tree, Complete: complete, Versions: read.versions, Published: w.status.Published,
		Base: w.status.Base, Conflicts: w.status.Conflicts,
	}
	if op := w.status.Op; op != nil {
		stale := read.versions[op.Write.Item] == op.Write.Version && w.made != op.Token
		unknown := !w.cloud.forget && w.made != op.Token && w.refused != op.Token
		if stale || unknown {
			// The request was not carried out, or does not show yet. Its token, or else the version, ensures
			// that it is carried out once.
			w.send(*op, !w.cloud.forget)
			return
		}
		if w.refused != op.Token {
			in.Sent = op.Write.Sent
		}
	}
	w.call()
	revision := w.revision
	in.Spec, in.Policies, in.Now = w.spec.tree(), w.policies, w.now
	plan := w.merge(in)
	if plan.Decided && w.store(in, plan, revision) {
		w.act(plan, revision)
	}
}

func (w *world) merge(in Input) Plan {
	if w.bug.in != nil {
		w.bug.in(&in)
	}
	plan := Merge(in)
	if w.bug.plan != nil {
		w.bug.plan(in, &plan)
	}
	return plan
}

// read returns a snapshot that may lag, and is sometimes incomplete.
func (w *world) read() (snapshot, bool) {
	c := &w.cloud
	if w.settled || w.status.Op != nil && w.made == w.status.Op.Token && !w.bug.believes {
		c.read = len(c.history) - 1
		return c.now(), true
	}
	c.read = max(c.read, len(c.history)-1-w.IntN(3))
	if w.IntN(10) > 0 {
		return c.history[c.read], true
	}
	half := c.history[c.read]
	half.tree = maps.Clone(half.tree)
	delete(half.tree, "pools")
	delete(half.tree, "tags")
	return half, false
}

// store writes the status, unless the object has changed since it was read.
func (w *world) store(in Input, plan Plan, revision int) bool {
	next := stored{plan.Base, in.Upstream, plan.Conflicts, append(slices.Clip(w.status.Decisions), plan.Decisions...), nil}
	if len(plan.Writes) > 0 {
		write := plan.Writes[0]
		if w.bug.write != nil {
			w.bug.write(&write, &w.cloud)
		}
		next.Op = &operation{write, w.statusWrites + 1}
	}
	if reflect.DeepEqual(next, w.status) {
		return true
	}
	w.call()
	if revision != w.revision {
		return false
	}
	w.checkPlan(plan)
	if next.Op != nil && w.cloud.forget {
		// Without a token, nobody knows whether somebody else has set the same value.
		w.agreeOn(next.Op.Write)
	}
	w.status = next
	w.planned, w.plannedBy = maps.Clone(w.spec), maps.Clone(w.specEdits)
	for _, leaf := range plan.Leaves {
		if leaf.State != Agreed {
			w.log("%s is %s: %s and %s", leaf.Path, leaf.State, leaf.Spec, leaf.Upstream)
		}
	}
	w.statusWrites++
	w.call()
	return true
}

func (w *world) act(plan Plan, revision int) {
	if w.status.Op != nil {
		w.send(*w.status.Op, true)
		return
	}
	if len(plan.SpecWrites) == 0 {
		return
	}
	w.call()
	if revision == w.revision {
		for path, value := range plan.SpecWrites {
			w.spec.set(path, value)
			delete(w.specEdits, path)
		}
		w.revision++
	}
	w.call()
}

// send sends the request, and checks at once what it has changed. If it is refused, it was certainly not
// carried out, unless it was sent before.
func (w *world) send(op operation, certain bool) {
	w.call()
	before, writes := w.cloud.now().config, w.cloud.writes
	err := w.cloud.write(op.Write, op.Token, w.bug.unguarded)
	w.log("request %d, %s of %q with %v: %v", op.Token, op.Write.Call, op.Write.Item, op.Write.Set, err)
	switch {
	case err != nil && certain:
		w.refused = op.Token
	case err == nil && (op.Write.Call == "create" || !w.cloud.forget):
		w.made = op.Token
	}
	if err == nil && w.cloud.writes > writes {
		w.checkWrite(op, before, w.cloud.now().config)
	}
	w.call()
}
