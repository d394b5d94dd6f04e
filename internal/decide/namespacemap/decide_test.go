package namespacemap

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

const manager = "spillway-system"

func remotes(list ...RemoteNamespace) map[string]RemoteNamespace {
	byName := map[string]RemoteNamespace{}
	for _, r := range list {
		byName[r.Name] = r
	}
	return byName
}

func ours(name, local string) RemoteNamespace {
	return RemoteNamespace{Name: name, UID: types.UID("remote-" + name), LocalNamespace: local, LocalUID: types.UID("uid-" + local)}
}

func terminating(r RemoteNamespace) RemoteNamespace {
	r.Terminating = true
	return r
}

func locals(names ...string) map[string]types.UID {
	uids := map[string]types.UID{}
	for _, name := range names {
		uids[name] = types.UID("uid-" + name)
	}
	return uids
}

func loopBackOff(reason, message string) Outcome {
	return Outcome{v1alpha1.MappingCreationLoopBackOff, reason, message}
}

var (
	active      = Outcome{Phase: v1alpha1.MappingAccepted, Reason: v1alpha1.ReasonNamespaceActive}
	going       = Outcome{v1alpha1.MappingTerminating, v1alpha1.ReasonNamespaceTerminating, terminatingMessage}
	notRequired = Outcome{v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired, notRequiredMessage}
)

func TestDecide(t *testing.T) {
	refused := loopBackOff(v1alpha1.ReasonNameConflict, "namespace r exists in provider eu, and is left alone: it was not created by Spillway")
	elsewhere := ours("r", "a")
	elsewhere.LocalUID = "another"
	tests := map[string]struct {
		snapshot Snapshot
		want     Plan
	}{
		"nothing is desired and nothing is there": {Snapshot{}, Plan{}},
		"it is not there": {
			Snapshot{Desired: entries("a", "r"), Locals: locals("a")},
			Plan{Creates: []Create{{"a", "r", "uid-a"}}}},
		"it is there and ours": {
			Snapshot{Desired: entries("a", "r"), Locals: locals("a"), Remotes: remotes(ours("r", "a"))},
			Plan{Known: map[string]Known{"a": {"r", active}}}},
		"it is there, ours, and going": {
			Snapshot{Desired: entries("a", "r"), Locals: locals("a"), Remotes: remotes(terminating(ours("r", "a")))},
			Plan{Known: map[string]Known{"a": {"r", going}}}},
		"it stands for an earlier namespace of that name": {
			Snapshot{Desired: entries("a", "r"), Locals: locals("a"), Remotes: remotes(elsewhere)},
			Plan{Known: map[string]Known{"a": {"r", loopBackOff(v1alpha1.ReasonNameConflict,
				"remote namespace r belongs to an earlier local namespace a with UID another; if no claim there has data that is needed, delete it in the provider, and Spillway recreates it")}}}},
		"it stands for another namespace, which does not want it any more": {
			Snapshot{Desired: entries("a", "r"), Locals: locals("a", "b"), Remotes: remotes(ours("r", "b"))},
			Plan{
				Deletes: []Delete{{"b", "r", "remote-r", "uid-b"}},
				Known: map[string]Known{
					"a": {"r", loopBackOff(v1alpha1.ReasonNameConflict, "remote namespace r belongs to local namespace b with UID uid-b, not to this one")},
					"b": {"r", notRequired},
				}}},
		"it does not say whom it stands for": {
			Snapshot{Desired: entries("a", "r"), Locals: locals("a"), Remotes: remotes(RemoteNamespace{Name: "r", UID: "x"})},
			Plan{Known: map[string]Known{"a": {"r", loopBackOff(v1alpha1.ReasonNameConflict,
				"remote namespace r belongs to no local namespace; it may be the mountNamespace of the ClusterBinding")}}}},
		"one that does not say whom it stands for is left alone": {
			Snapshot{Remotes: remotes(RemoteNamespace{Name: "r", UID: "x"})}, Plan{}},
		"it was refused, and its next try is not due": {
			Snapshot{Desired: entries("a", "r"), Locals: locals("a"), BackingOff: map[string]Outcome{"r": refused}},
			Plan{Known: map[string]Known{"a": {"r", refused}}}},
		"it was refused, but is there by now": {
			Snapshot{Desired: entries("a", "r"), Locals: locals("a"), Remotes: remotes(ours("r", "a")), BackingOff: map[string]Outcome{"r": refused}},
			Plan{Known: map[string]Known{"a": {"r", active}}}},
		"the local namespace is gone": {Snapshot{Desired: entries("a", "r")}, Plan{}},
		"the local namespace is gone, the remote one stays as long as it is desired": {
			Snapshot{Desired: entries("a", "r"), Remotes: remotes(ours("r", "a"))}, Plan{}},
		"two want one name: the first keeps it": {
			Snapshot{Desired: entries("b", "r", "a", "r"), Locals: locals("a", "b"), Remotes: remotes(ours("r", "b"))},
			Plan{Known: map[string]Known{
				"a": {"r", loopBackOff(v1alpha1.ReasonNameTaken, "local namespace b already claims remote namespace r")},
				"b": {"r", active},
			}}},
		"two want one name that is not there: the first gets it": {
			Snapshot{Desired: entries("b", "r", "a", "r"), Locals: locals("a", "b")},
			Plan{
				Creates: []Create{{"b", "r", "uid-b"}},
				Known:   map[string]Known{"a": {"r", loopBackOff(v1alpha1.ReasonNameTaken, "local namespace b already claims remote namespace r")}},
			}},
		"a name of the provider": {
			Snapshot{Desired: entries("a", "kube-public"), Locals: locals("a")},
			Plan{Known: map[string]Known{"a": {"kube-public", loopBackOff(v1alpha1.ReasonNameReserved,
				"remote namespace kube-public is reserved: use another name")}}}},
		"the name default": {
			Snapshot{Desired: entries("default", "default"), Locals: locals("default")},
			Plan{Known: map[string]Known{"default": {"default", loopBackOff(v1alpha1.ReasonNameReserved,
				"remote namespace default is reserved: use another name")}}}},
		"the manager's own name": {
			Snapshot{Desired: entries("a", manager), Locals: locals("a")},
			Plan{Known: map[string]Known{"a": {manager, loopBackOff(v1alpha1.ReasonNameReserved,
				"remote namespace spillway-system is reserved: use another name")}}}},
		"nobody wants it any more": {
			Snapshot{Locals: locals("a"), Remotes: remotes(ours("r", "a"))},
			Plan{Deletes: []Delete{{"a", "r", "remote-r", "uid-a"}}, Known: map[string]Known{"a": {"r", notRequired}}}},
		"nobody wants it any more, and it is going": {
			Snapshot{Remotes: remotes(terminating(ours("r", "a"))), Existing: map[string]string{"a": "r"}},
			Plan{Known: map[string]Known{"a": {"r", notRequired}}}},
		"nobody has told of it: it was made just before a crash": {
			Snapshot{Locals: locals("a"), Remotes: remotes(terminating(ours("r", "a")))},
			Plan{Known: map[string]Known{"a": {"r", notRequired}}}},
		"somebody claims that it stands for a namespace that never asked for it": {
			Snapshot{Locals: locals("a"), Remotes: remotes(elsewhere)}, Plan{Deletes: []Delete{{"a", "r", "remote-r", "another"}}}},
		"and keeps it from going": {Snapshot{Locals: locals("a"), Remotes: remotes(terminating(elsewhere))}, Plan{}},
		"and the status has another one of it": {
			Snapshot{Locals: locals("a"), Remotes: remotes(elsewhere), Existing: map[string]string{"a": "another"}},
			Plan{Deletes: []Delete{{"a", "r", "remote-r", "another"}}}},
		"it stands for a namespace that is gone": {
			Snapshot{Remotes: remotes(ours("r", "a"))}, Plan{Deletes: []Delete{{"a", "r", "remote-r", "uid-a"}}}},
		"a name that no namespace can have": {
			Snapshot{Locals: locals("a"), Remotes: remotes(terminating(ours("no name", "a")))}, Plan{}},
		"one of the provider's own, with our mark": {
			Snapshot{Locals: locals("a"), Remotes: remotes(ours("kube-public", "a"))}, Plan{}},
		"it is wanted under another name: the new one is what is told of": {
			Snapshot{Desired: entries("a", "new"), Locals: locals("a"), Remotes: remotes(ours("old", "a"), ours("new", "a"))},
			Plan{Deletes: []Delete{{"a", "old", "remote-old", "uid-a"}}, Known: map[string]Known{"a": {"new", active}}}},
		"its entry is gone, but the offloading still asks for it": {
			Snapshot{Locals: locals("a"), Remotes: remotes(ours("r", "a")), Kept: sets.New("r")},
			Plan{Known: map[string]Known{"a": {"r", active}}}},
		"its entry has another name, but the offloading asks for the one that is there": {
			Snapshot{Desired: entries("a", "new"), Locals: locals("a"), Remotes: remotes(ours("r", "a")), Kept: sets.New("r")},
			Plan{Known: map[string]Known{"a": {"r", active}}}},
		"the offloading asks for it, but somebody else deletes it": {
			Snapshot{Locals: locals("a"), Remotes: remotes(terminating(ours("r", "a"))), Kept: sets.New("r")},
			Plan{Known: map[string]Known{"a": {"r", notRequired}}}},
		"one of two is asked for": {
			Snapshot{Locals: locals("a"), Remotes: remotes(ours("r1", "a"), ours("r2", "a")), Kept: sets.New("r2")},
			Plan{Deletes: []Delete{{"a", "r1", "remote-r1", "uid-a"}}, Known: map[string]Known{"a": {"r2", active}}}},
		"several that nobody wants: always the same one is told of": {
			Snapshot{Locals: locals("a"), Remotes: remotes(ours("r3", "a"), ours("r1", "a"), ours("r2", "a"))},
			Plan{
				Deletes: []Delete{{"a", "r1", "remote-r1", "uid-a"}, {"a", "r2", "remote-r2", "uid-a"}, {"a", "r3", "remote-r3", "uid-a"}},
				Known:   map[string]Known{"a": {"r1", notRequired}},
			}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.snapshot.ManagerNamespace = manager
			if diff := cmp.Diff(test.want, Decide(test.snapshot), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// provider carries out plans, where the test lets it.
type provider struct {
	marked map[string]RemoteNamespace
	// foreign are names that belong to somebody else.
	foreign map[string]bool
	uids    int
}

// create refuses an existing name, as an API server does.
func (p *provider) create(c Create) {
	if _, exists := p.marked[c.RemoteNamespace]; exists || p.foreign[c.RemoteNamespace] {
		return
	}
	p.uids++
	p.marked[c.RemoteNamespace] = RemoteNamespace{
		Name: c.RemoteNamespace, UID: types.UID(fmt.Sprint(p.uids)), LocalNamespace: c.Namespace, LocalUID: c.LocalUID,
	}
}

// delete deletes a namespace only if it is the intended one.
func (p *provider) delete(d Delete) {
	if r, ok := p.marked[d.RemoteNamespace]; ok && r.UID == d.UID {
		p.marked[d.RemoteNamespace] = terminating(r)
	}
}

// state says which namespace represents which, without the UIDs.
func (p *provider) state() map[string]RemoteNamespace {
	state := maps.Clone(p.marked)
	for name, r := range state {
		r.UID = ""
		state[name] = r
	}
	return state
}

func (p *provider) clone() *provider {
	return &provider{marked: maps.Clone(p.marked), foreign: p.foreign, uids: p.uids}
}

// settle decides and carries out plans until none has actions. do chooses the actions of a plan that happen
// before it is cut off. ends chooses the namespaces whose deletion finishes meanwhile.
func settle(t *testing.T, p *provider, s Snapshot, do, ends func() bool) Plan {
	t.Helper()
	for range 1000 {
		s.Remotes = maps.Clone(p.marked)
		plan := Decide(s)
		quiet := len(plan.Deletes) == 0
		for _, d := range plan.Deletes {
			if do() {
				p.delete(d)
			}
		}
		for _, c := range plan.Creates {
			quiet = quiet && p.foreign[c.RemoteNamespace] // These are retried forever.
			if do() {
				p.create(c)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(p.marked)) {
			if p.marked[name].Terminating {
				quiet = false
				if ends() {
					delete(p.marked, name)
				}
			}
		}
		if quiet {
			return plan
		}
	}
	t.Fatal("it never comes to rest")
	return Plan{}
}

// TestEveryPartOfAPlanIsSafe checks reconciles that die in the middle of their plan. The following reconciles
// must lead to the same end as one that does everything.
func TestEveryPartOfAPlanIsSafe(t *testing.T) {
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 1))
		p, s := randomProvider(random)
		foreign := maps.Clone(p.foreign)
		always, sometimes := func() bool { return true }, func() bool { return random.IntN(2) == 0 }

		whole, parts := p.clone(), p.clone()
		want := settle(t, whole, s, always, always)
		got := settle(t, parts, s, sometimes, sometimes)
		if diff := cmp.Diff(whole.state(), parts.state()); diff != "" {
			t.Fatalf("seed %d: another end (-whole plans +parts of plans)\n%s", seed, diff)
		}
		if diff := cmp.Diff(want.Known, got.Known); diff != "" {
			t.Fatalf("seed %d: another report (-whole plans +parts of plans)\n%s", seed, diff)
		}
		if diff := cmp.Diff(foreign, parts.foreign); diff != "" {
			t.Fatalf("seed %d: what is not ours was touched\n%s", seed, diff)
		}
		checkEnd(t, seed, parts, s)
	}
}

// randomProvider returns a provider that others and earlier reconciles have changed, and the desired state.
func randomProvider(random *rand.Rand) (*provider, Snapshot) {
	p := &provider{marked: map[string]RemoteNamespace{}, foreign: map[string]bool{}}
	s := Snapshot{ManagerNamespace: manager, Locals: map[string]types.UID{}}
	names := []string{"r0", "r1", "r2", "r3", "r4", "kube-public"}
	namespaces := []string{"a", "b", "c", "d", "e"}
	for _, name := range names[:5] {
		switch random.IntN(4) {
		case 0:
			p.foreign[name] = true
		case 1:
			r := ours(name, namespaces[random.IntN(len(namespaces))])
			r.Terminating = random.IntN(3) == 0
			p.marked[name] = r
		}
	}
	for _, namespace := range namespaces {
		if random.IntN(5) > 0 {
			s.Locals[namespace] = types.UID("uid-" + namespace)
		}
		if random.IntN(3) > 0 {
			s.Desired = append(s.Desired, v1alpha1.DesiredMapping{Namespace: namespace, RemoteNamespace: names[random.IntN(len(names))]})
		}
	}
	return p, s
}

// checkEnd checks that exactly the first to ask for each available name have their namespace.
func checkEnd(t *testing.T, seed uint64, p *provider, s Snapshot) {
	t.Helper()
	owners := map[string]string{}
	for _, entry := range s.Desired {
		if _, taken := owners[entry.RemoteNamespace]; !taken {
			owners[entry.RemoteNamespace] = entry.Namespace
		}
	}
	for name, r := range p.marked {
		if owners[name] != r.LocalNamespace {
			t.Errorf("seed %d: %s stands for %s, and nobody wants that", seed, name, r.LocalNamespace)
		}
	}
	for name, namespace := range owners {
		_, local := s.Locals[namespace]
		if _, exists := p.marked[name]; local && !exists && !p.foreign[name] && name != "kube-public" {
			t.Errorf("seed %d: %s, which %s wants, is missing", seed, name, namespace)
		}
	}
}
