package merge

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// side is a configuration by path. A list or map that is set has a path, too.
type side map[string]any

// universe has all leaves that the model knows.
var universe = toy.read(map[string]any{
	"version": "1", "access": map[string]any{"public": true, "cidrs": []any{"c"}}, "tags": map[string]any{"a": "1", "b": "1"},
	"pools": []any{pool("p"), pool("q")},
})

func pool(name string) map[string]any {
	return map[string]any{
		"name": name, "size": 1, "scales": true, "labels": map[string]any{"x": "1"},
		"taints": []any{map[string]any{"key": "k", "effect": "E"}, map[string]any{"key": "l", "effect": "E"}},
	}
}

var universePaths = slices.Sorted(maps.Keys(universe.at))

func (s side) leaves() *leaves {
	l := &leaves{at: map[string]*leaf{}, sets: map[string]*leaf{}}
	for path, value := range s {
		if at := universe.at[path]; at != nil {
			with := *at
			with.value, with.text = value, with.field.text(value)
			l.at[path] = &with
			continue
		}
		l.sets[path] = universe.sets[path]
	}
	return l
}

func (s side) tree() map[string]any { return toy.build(s.leaves()) }

func (s side) text(path string) Text {
	value, ok := s[path]
	if !ok {
		return Null
	}
	return universe.at[path].field.text(value)
}

// set changes a leaf. Nil deletes it; for an item, with all its fields.
func (s side) set(path string, value any) {
	if value == nil {
		maps.DeleteFunc(s, func(at string, _ any) bool { return in(at, path) })
		return
	}
	s[path] = value
	if at := universe.at[path]; at.list != "" {
		s[at.list] = true
	}
}

// snapshot is the state of the cloud at one time.
type snapshot struct {
	config   side
	versions map[string]string
	tree     map[string]any
	// troubled has the pools that do not work, although their creation was accepted.
	troubled []string
	// changing has the pools that are being changed.
	changing map[string]bool
}

// cloud keeps its history, because reads may lag.
type cloud struct {
	history []snapshot
	// read is the index of the latest snapshot that was read. No read is older than the one before.
	read int
	// tokens has the tokens of the requests that were carried out. Some clouds have tokens only for requests
	// that create something.
	tokens map[int]bool
	forget bool
	writes int
	// quota refuses some requests, with some values, until it is raised. Until then, breaks lets some of the
	// pools fail that were accepted.
	quota, breaks func(Write) bool
	// running has the operations that are not done, by pool. fails lets some of them fail, until the quota is raised.
	// Half of the clouds have none: there, all is done at once.
	running  map[string]*running
	parallel bool
	fails    func(Write) bool
	// failed has the tokens of the operations that have failed.
	failed map[int]bool
	// result is what the latest request leads to.
	result side
}

var (
	errPrecondition = errors.New("412 or 409")
	errQuota        = errors.New("400")
)

func (c *cloud) now() snapshot { return c.history[len(c.history)-1] }

// change appends a state, with a new version of an item or of the cluster.
func (c *cloud) change(item string, change func(side)) {
	next := snapshot{config: maps.Clone(c.now().config), versions: maps.Clone(c.now().versions), troubled: slices.Clone(c.now().troubled), changing: map[string]bool{}}
	change(next.config)
	for item := range c.running {
		next.changing[item] = true
	}
	next.troubled = slices.DeleteFunc(next.troubled, func(item string) bool { return next.config[item] == nil })
	delete(next.versions, item)
	if item == "" || next.config[item] != nil {
		next.versions[item] = fmt.Sprint("v", len(c.history))
	}
	next.tree = next.config.tree()
	c.history = append(c.history, next)
}

// write behaves like a cloud. A token counts once, and an outdated version is refused. A call that replaces
// its fields resets those that the request leaves out.
func (c *cloud) write(w Write, token int, unguarded bool, half func() bool) error {
	if c.tokens[token] {
		return nil
	}
	now := c.now()
	if c.running[w.Item] != nil || w.Item == "" && len(c.running) > 0 {
		return errPrecondition
	}
	if !unguarded && now.versions[w.Item] != w.Version || w.Call == "create" && now.config[w.Item] != nil {
		return errPrecondition
	}
	if c.quota(w) {
		return errQuota
	}
	c.tokens[token] = !c.forget || w.Call == "create"
	c.writes++
	breaks := w.Call == "create" && c.breaks(w)
	c.begin(w.Item, &running{token: token, fails: c.fails(w), breaks: breaks}, c.parallel && toy.Parallel(w.Call), half, func(s side) {
		if w.Call == "delete" {
			s.set(w.Item, nil)
			return
		}
		if toy.Call(w.Call).Whole {
			maps.DeleteFunc(s, func(path string, _ any) bool {
				at := universe.at[path]
				return at != nil && at.field.Call == w.Call && at.item == w.Item && !at.exists
			})
		}
		for path, at := range toy.read(w.Message).at {
			s.set(path, at.value)
		}
	})
	return nil
}

// running is an operation that changes a pool until it is done, or has failed. Until then, a part of the change shows.
type running struct {
	token         int
	fails, breaks bool
	// result has the pool as it will be.
	result side
}

// begin changes a pool or the cluster, at once or as an operation.
func (c *cloud) begin(item string, op *running, lasts bool, half func() bool, change func(side)) {
	c.result = maps.Clone(c.now().config)
	change(c.result)
	op.result = c.result
	if !lasts {
		c.change(item, change)
		c.broken(item, op)
		return
	}
	if c.running == nil {
		c.running = map[string]*running{}
	}
	c.running[item] = op
	c.change(item, func(s side) { s.part(item, op.result, half) })
}

// part takes over a part of a pool.
func (s side) part(item string, from side, half func() bool) {
	for _, path := range universePaths {
		at := universe.at[path]
		if at.item != item && path != item || s.text(path) == from.text(path) || !half() {
			continue
		}
		if at.item != "" && (s[at.item] == nil || from[at.item] == nil) {
			continue
		}
		if value, ok := from[path]; ok || !at.exists {
			s.set(path, value)
		}
	}
}

// end ends the operation of a pool.
func (c *cloud) end(item string) {
	op := c.running[item]
	delete(c.running, item)
	if op.fails {
		// What was changed so far stays.
		c.failed[op.token] = true
		c.writes--
		c.change(item, func(side) {})
		return
	}
	c.change(item, func(s side) {
		maps.DeleteFunc(s, func(at string, _ any) bool { return in(at, item) })
		for at, value := range op.result {
			if in(at, item) {
				s[at] = value
			}
		}
	})
	c.broken(item, op)
}

func (c *cloud) broken(item string, op *running) {
	if last := &c.history[len(c.history)-1]; op.breaks {
		last.troubled = append(last.troubled, item)
	}
}

// edit is somebody's accepted write.
type edit struct {
	path string
	text Text
	spec bool
	at   time.Time
	// saw is what the author of an edit of the spec could see of the cloud.
	saw *leaves
	// seen is set once a later writer has changed the same leaf, and could see this edit.
	seen bool
}

// stored is the status of the object, which survives a crash.
type stored struct {
	Base      map[string]Base
	Published map[string]any
	Conflicts []OpenConflict
	Decisions []Decision
	States    map[string]State
	// Ops are in flight, and Refused wait.
	Ops     []operation
	Refused []Refusal
	// Revision is the revision of the spec that was decided on.
	Revision int
}

type operation struct {
	Write Write
	Token int
	// Troubled are the pools that did not work when this was decided, and plan has all writes.
	Troubled []string
	plan     []Write
	// planned is the spec that this was decided on, and plannedBy has its authors.
	planned   side
	plannedBy map[string]*edit
}

// world is one interleaving.
type world struct {
	*rand.Rand
	cloud    cloud
	spec     side
	revision int
	policies Policies
	status   stored
	now      time.Time
	seed     uint64
	bug      bug
	// specEdits and cloudEdits have the edit that set the present value, by path.
	specEdits, cloudEdits map[string]*edit
	edits                 []*edit
	count, statusWrites   int
	// agreed has the paths and values that both sides have had. public has those that were published.
	agreed, public map[[2]string]bool
	// shown has the conflicts that users could resolve, by hash.
	shown map[string]OpenConflict
	// made has the tokens of the requests that certainly were carried out, or are. No version shows that if an item is
	// created and deleted again.
	made map[int]bool
	// began is the request that was stored, and is to be sent.
	began *operation
	// changing are the pools that are left alone.
	changing []string
	// failing are the operations that were found to have failed.
	failing []Refusal
	// troubled are the pools that did not work when the cloud was last read.
	troubled []string
	// settled: no more edits, crashes and lags.
	settled    bool
	violations []string
	// trace has what has happened. It costs half of the time, so only an interleaving that has failed is played again
	// with it.
	trace   []string
	tracing bool
	// tree is the spec as a tree, of that revision.
	tree   map[string]any
	treeOf int
	// shows has the leaves of the cloud that the status has published.
	shows *leaves
}

func newWorld(seed uint64, b bug) *world {
	w := &world{
		Rand: rand.New(rand.NewPCG(seed, 0)), spec: side{}, now: time.Unix(1000, 0), seed: seed, bug: b,
		specEdits: map[string]*edit{}, cloudEdits: map[string]*edit{}, shown: map[string]OpenConflict{},
		agreed: map[[2]string]bool{}, public: map[[2]string]bool{}, shows: toy.read(nil),
	}
	w.cloud.tokens, w.cloud.forget = map[int]bool{}, w.IntN(2) == 0
	w.cloud.quota = func(Write) bool { return false }
	w.cloud.breaks, w.cloud.fails = w.cloud.quota, w.cloud.quota
	w.made, w.cloud.failed, w.cloud.parallel = map[int]bool{}, map[int]bool{}, w.IntN(2) == 0
	if few := w.IntN(2) == 0; few {
		// Some requests are refused, for as long as this lasts. Another value may be accepted.
		chance := func(r Write) uint32 { return crc32.ChecksumIEEE(fmt.Append(nil, seed, r.Call, r.Item, r.Sent)) % 4 }
		w.cloud.quota = func(r Write) bool { return chance(r) == 0 }
		w.cloud.breaks = func(r Write) bool { return chance(r) == 1 }
		w.cloud.fails = func(r Write) bool { return chance(r) == 2 }
	}
	w.cloud.history = []snapshot{{config: side{}, versions: map[string]string{}}}
	w.cloud.change("", func(s side) {
		maps.Copy(s, side{"version": "1", "access.cidrs": []any{"c"}, "tags": true, `tags["a"]`: "1", "pools": true})
	})
	sides := []Side{Neither, Spec, Upstream}
	policy := func() Policy { return Policy{sides[w.IntN(3)], sides[w.IntN(3)], w.IntN(2) == 0} }
	w.policies = Policies{Policy: policy(), Exclusive: w.IntN(2) == 0}
	if w.IntN(2) == 0 {
		w.policies.Overrides = map[string]Policy{"tags": policy(), `pools["p"]`: policy()}
	}
	return w
}

// specTree returns the spec as the merge gets it. Each change of the spec is a new revision.
func (w *world) specTree() map[string]any {
	if w.tree == nil || w.treeOf != w.revision {
		w.tree, w.treeOf = w.spec.tree(), w.revision
	}
	return w.tree
}

// log records an event for the report of a violation.
func (w *world) log(format string, args ...any) {
	if !w.tracing {
		return
	}
	w.trace = append(w.trace, fmt.Sprint(w.now.Unix()-1000)+" "+fmt.Sprintf(format, args...))
}

func (w *world) violation(format string, args ...any) {
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

// value returns another value for a leaf. Mostly it is a new one, sometimes one of a few that recur.
func (w *world) value(path string) any {
	w.count++
	text := fmt.Sprint(w.count)
	if w.IntN(3) == 0 {
		text = fmt.Sprint(w.IntN(2) + 1)
	}
	switch at := universe.at[path]; {
	case at.exists:
		return true
	case at.field.Path == "access.public" || at.field.Path == "pools[].scales":
		return w.IntN(2) == 0
	case at.field.Path == "pools[].size":
		return w.count
	case at.field.Path == "pools[].taints":
		taint := maps.Clone(at.value.(map[string]any))
		taint["value"] = text
		return taint
	case at.field.Shape == Set:
		return []any{text}
	default:
		return text
	}
}

// console is somebody's edit in the cloud.
func (w *world) console() {
	path := universePaths[w.IntN(len(universePaths))]
	at, now := universe.at[path], w.cloud.now().config
	value := w.value(path)
	if w.IntN(4) == 0 || at.exists && now[path] != nil {
		value = nil
	}
	if at.item != "" && now[at.item] == nil || at.field.text(value) == now.text(path) {
		return
	}
	item := at.item
	if at.exists {
		item = path
	}
	if w.cloud.running[item] != nil {
		return
	}
	w.cloud.begin(item, &running{}, item != "" && w.cloud.parallel && w.IntN(3) == 0, w.half, func(s side) { s.set(path, value) })
	for at, author := range w.cloudEdits {
		if in(at, path) {
			author.seen = true
		}
	}
	if at.field.Floats != nil && now[at.item+".scales"] == true {
		w.log("%s = %v by itself", path, value)
		return
	}
	w.cloudEdits[path] = w.edited(path, at.field.text(value), false)
}

// user is an edit of the spec: of a field, of whether it is set, or of a list of pools.
func (w *world) user() {
	path := universePaths[w.IntN(len(universePaths))]
	at := universe.at[path]
	value := w.value(path)
	_, set := w.spec[path]
	switch forget := w.IntN(4) == 0; {
	case !forget && set && at.field.text(value) == w.spec.text(path):
		return
	case at.item != "" && w.spec[at.item] == nil:
		return
	case forget && at.field.Shape == Map:
		w.spec[path] = nil
	case forget || at.exists && w.spec[path] != nil:
		w.forget(path)
		return
	default:
		if w.spec[at.list] == nil && w.owns(at) {
			// Setting the list excludes each item that is not in it.
			w.seenBySpec(at.list)
			w.specEdits[at.list] = &edit{saw: w.shows}
		}
		w.spec.set(path, value)
	}
	w.revision++
	w.seenBySpec(path)
	w.specEdits[path] = w.edited(path, w.spec.text(path), true)
}

// forget removes a field from the spec. If an owned list has it, that is an edit.
func (w *world) forget(path string) {
	_, was := w.spec[path]
	w.spec.set(path, nil)
	w.revision++
	w.seenBySpec(path)
	for at := range w.specEdits {
		if in(at, path) {
			w.specEdits[at].seen = true
		}
	}
	if was && w.owns(universe.at[path]) {
		w.specEdits[path] = w.edited(path, Null, true)
	}
}

func (w *world) owns(at *leaf) bool { return at.field.Owned || at.exists && w.policies.Exclusive }

// seenBySpec marks what an editor of the spec sees: the spec and the published upstream.
func (w *world) seenBySpec(path string) {
	if e := w.specEdits[path]; e != nil {
		e.seen = true
	}
	published := w.shows
	for at, e := range w.cloudEdits {
		// The author also knows what both sides had agreed on.
		had := w.specEdits[at]
		if in(at, path) && (same(at, e.text, published.text(at)) || had != nil && had.text == e.text) {
			e.seen = true
		}
	}
}

func (w *world) edited(path string, text Text, spec bool) *edit {
	e := &edit{path: path, text: text, spec: spec, at: w.now, saw: w.shows}
	w.log("%s = %s by the user of the spec: %v", path, text, spec)
	w.edits = append(w.edits, e)
	return e
}

// degrade lets a pool that works stop working, or the other way round. That is no edit.
func (w *world) degrade() {
	item := []string{`pools["p"]`, `pools["q"]`}[w.IntN(2)]
	if w.cloud.now().config[item] == nil || w.cloud.running[item] != nil {
		return
	}
	was := slices.Contains(w.cloud.now().troubled, item)
	w.cloud.change(item, func(side) {})
	last := &w.cloud.history[len(w.cloud.history)-1]
	if last.troubled = slices.DeleteFunc(last.troubled, func(of string) bool { return of == item }); !was {
		last.troubled = append(last.troubled, item)
	}
	w.log("%s works: %v", item, was)
}

func (w *world) half() bool { return w.IntN(2) == 0 }

// operations lets some operations end.
func (w *world) operations() {
	for _, item := range slices.Sorted(maps.Keys(w.cloud.running)) {
		if w.settled || w.IntN(3) == 0 {
			w.cloud.end(item)
			w.log("the operation on %q is done", item)
		}
	}
}

// resolve takes a side in a conflict as it is shown now, or was shown earlier.
func (w *world) resolve() {
	for _, c := range w.status.Conflicts {
		if w.IntN(2) == 0 {
			take := []Side{Spec, Upstream}[w.IntN(2)]
			w.policies.Resolutions = append(w.policies.Resolutions, Resolution{c.Path, take, c.Hash})
			w.revision++
			w.edits = append(w.edits, &edit{path: c.Path, seen: true})
			w.shown[c.Hash] = c
		}
	}
}
