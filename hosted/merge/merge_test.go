package merge

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// toy is the table of a small cloud that has one field of each shape.
var toy = New([]Call{
	{Name: "upgrade"}, {Name: "access", Whole: true}, {Name: "tag"},
	{Name: "create", Parallel: true}, {Name: "delete", Parallel: true, After: []string{"create"}}, {Name: "size", Parallel: true}, {Name: "pool", Whole: true},
}, []Field{
	{Path: "region", Shape: Scalar, Immutable: true},
	{Path: "subnets", Shape: Whole, Immutable: true},
	{
		Path: "version", Shape: Scalar, Call: "upgrade",
		Normalize: func(v any) any { return strings.TrimPrefix(v.(string), "v") },
		Same: func(spec, upstream any) bool {
			return spec != nil && strings.HasPrefix(fmt.Sprint(upstream), fmt.Sprint(spec, "."))
		},
	},
	{Path: "access.public", Shape: Scalar, Call: "access"},
	{Path: "access.cidrs", Shape: Set, Call: "access"},
	{Path: "tags", Shape: Map, Call: "tag"},
	{Path: "pools", Shape: Keyed, Key: "name", Call: "create", Delete: "delete"},
	{Path: "pools[].size", Shape: Scalar, Call: "size", Floats: func(pool map[string]any) bool { return pool["scales"] == true }},
	{Path: "pools[].scales", Shape: Scalar, Call: "size"},
	{Path: "pools[].zones", Shape: Set, Immutable: true},
	{Path: "pools[].labels", Shape: Map, Call: "pool"},
	{Path: "pools[].taints", Shape: Keyed, Owned: true, Call: "pool", KeyOf: func(item any) string {
		taint, _ := item.(map[string]any)
		return fmt.Sprint(taint["key"], ":", taint["effect"])
	}},
})

// TestDecide has one row for each cell of the table in the package comment.
func TestDecide(t *testing.T) {
	report, spec, upstream := Policy{}, Policy{External: Spec, Conflict: Spec}, Policy{External: Upstream, Conflict: Upstream}
	back := Policy{External: Upstream, Conflict: Upstream, WriteBack: true}
	tests := map[string]struct {
		view   view
		policy Policy
		want   verdict
	}{
		"both are the same":                          {view{same: true, spec: true, upstream: true}, report, verdict{state: Agreed}},
		"it moves by itself":                         {view{floats: true, spec: true, upstream: true}, spec, verdict{state: Floating}},
		"it cannot change":                           {view{immutable: true, spec: true}, spec, verdict{state: ImmutableDiffers}},
		"it cannot change, whoever did":              {view{immutable: true, upstream: true}, back, verdict{state: ImmutableDiffers}},
		"the spec has changed":                       {view{spec: true}, report, verdict{state: Pushed}},
		"the spec has, and the cloud is preferred":   {view{spec: true}, back, verdict{state: Pushed}},
		"the cloud has changed: report":              {view{upstream: true}, report, verdict{state: Drifted}},
		"the cloud has: the spec is preferred":       {view{upstream: true}, spec, verdict{Pushed, true}},
		"the cloud has: it is preferred":             {view{upstream: true}, upstream, verdict{Superseded, true}},
		"the cloud has: written back":                {view{upstream: true}, back, verdict{WrittenBack, true}},
		"a resolution does not turn a change around": {view{upstream: true, resolved: Spec}, report, verdict{state: Drifted}},
		"both have: report":                          {view{spec: true, upstream: true}, report, verdict{state: Conflict}},
		"both have: the spec is preferred":           {view{spec: true, upstream: true}, spec, verdict{Pushed, true}},
		"both have: the cloud is preferred":          {view{spec: true, upstream: true}, upstream, verdict{Superseded, true}},
		"both have: written back":                    {view{spec: true, upstream: true}, back, verdict{WrittenBack, true}},
		"both have: resolved for the spec":           {view{spec: true, upstream: true, resolved: Spec}, upstream, verdict{Pushed, true}},
		"both have: resolved for the cloud":          {view{spec: true, upstream: true, resolved: Upstream}, spec, verdict{Superseded, true}},
		"they have agreed to differ":                 {view{}, upstream, verdict{state: Superseded}},
		"they have, and now it is to be in the spec": {view{}, back, verdict{WrittenBack, true}},
		"they have, and the spec is preferred now":   {view{}, spec, verdict{state: Superseded}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := decide(test.view, test.policy); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

// object parses JSON in which ' stands for ".
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	if text == "" {
		return nil
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "'", `"`)), &m); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return m
}

// mergeCase is a merge with the base that results if both sides had agreed.
type mergeCase struct {
	agreed, spec, upstream string
	// published equals agreed by default.
	published string
	policies  Policies
	// states are by path, without those that are Agreed.
	states map[string]State
	// sets has the writes as CALL: PATHS. message is the message of the first one.
	sets      []string
	message   string
	effective string
	decisions int
	back      map[string]any
}

var mergeCases = map[string]mergeCase{
	"nothing set, nothing managed": {upstream: `{'version':'1.30','tags':{'a':'1'}}`, effective: `{'version':'1.30','tags':{'a':'1'}}`},
	"no longer set": {
		agreed: `{'version':'1.30'}`, spec: `{}`, upstream: `{'version':'1.31'}`, effective: `{'version':'1.31'}`,
	},
	"newly set, and the cloud is as it was shown": {
		spec: `{'access':{'public':true}}`, upstream: `{'region':'eu'}`, published: `{}`,
		states: map[string]State{"access.public": Pushed}, sets: []string{"access: access.public"}, message: `{'access':{'public':true}}`,
	},
	"newly set, and the cloud is not as it was shown": {
		spec: `{'version':'1.31'}`, upstream: `{'version':'1.32'}`, published: `{'version':'1.30'}`, states: map[string]State{"version": Conflict},
	},
	"newly set, before anything was shown": {
		spec: `{'version':'1.31'}`, upstream: `{'version':'1.30'}`, states: map[string]State{"version": Conflict},
	},
	"zero values are the same as nothing": {
		spec: `{'access':{'public':false,'cidrs':[]},'tags':{},'pools':[]}`, upstream: `{}`,
		effective: `{'tags':{},'pools':[]}`,
	},
	"an empty list is managed, and empties the cloud's": {
		agreed: `{'access':{'cidrs':['a']}}`, spec: `{'access':{'cidrs':[]}}`, upstream: `{'access':{'cidrs':['a']}}`,
		states: map[string]State{"access.cidrs": Pushed}, sets: []string{"access: access.cidrs"}, message: `{'access':{'cidrs':[]}}`,
	},
	"a set has no order": {spec: `{'access':{'cidrs':['a','b']}}`, upstream: `{'access':{'cidrs':['b','a','a']}}`},
	"a whole value does": {spec: `{'subnets':['a','b']}`, upstream: `{'subnets':['b','a']}`, states: map[string]State{"subnets": ImmutableDiffers}},
	"normalised":         {spec: `{'version':'v1.30'}`, upstream: `{'version':'1.30'}`},
	"sent as the cloud takes it": {
		agreed: `{'version':'1.30'}`, spec: `{'version':'v1.31'}`, upstream: `{'version':'1.30'}`,
		states: map[string]State{"version": Pushed}, sets: []string{"upgrade: version"}, message: `{'version':'1.31'}`,
	},
	"a prefix is enough": {spec: `{'version':'1.30'}`, upstream: `{'version':'1.30.4'}`},
	"other siblings of a whole message are kept": {
		agreed: `{'access':{'public':true}}`, spec: `{'access':{'public':false}}`, upstream: `{'access':{'public':true,'cidrs':['a']}}`,
		states: map[string]State{"access.public": Pushed}, sets: []string{"access: access.public"}, message: `{'access':{'public':false,'cidrs':['a']}}`,
	},
	"the frozen leaf alone": {
		agreed: `{'version':'1.30','access':{'public':true}}`, spec: `{'version':'1.31','access':{'public':false}}`,
		upstream: `{'version':'1.32','access':{'public':true}}`,
		states:   map[string]State{"version": Conflict, "access.public": Pushed}, sets: []string{"access: access.public"}, message: `{'access':{'public':false}}`,
	},
	"tags of others stay, and null deletes one": {
		agreed: `{'tags':{'a':'1','b':'2'}}`, spec: `{'tags':{'a':null,'b':'3'}}`, upstream: `{'tags':{'a':'1','b':'2','x':'y'}}`,
		states: map[string]State{`tags["a"]`: Pushed, `tags["b"]`: Pushed}, sets: []string{`tag: tags["a"],tags["b"]`}, message: `{'tags':{'a':null,'b':'3'}}`,
		effective: `{'tags':{'b':'3','x':'y'}}`,
	},
	"a tag that is no longer set stays": {agreed: `{'tags':{'a':'1'}}`, spec: `{'tags':{}}`, upstream: `{'tags':{'a':'1'}}`, effective: `{'tags':{'a':'1'}}`},
	"an override for a tag": {
		agreed: `{'tags':{'a':'1','b':'1'}}`, spec: `{'tags':{'a':'1','b':'1'}}`, upstream: `{'tags':{'a':'2','b':'2'}}`,
		policies: Policies{Overrides: map[string]Policy{"tags": {External: Spec}, `tags["a"]`: {External: Upstream}}},
		states:   map[string]State{`tags["a"]`: Superseded, `tags["b"]`: Pushed}, sets: []string{`tag: tags["b"]`}, decisions: 2,
		effective: `{'tags':{'a':'2','b':'1'}}`,
	},
	"a pool is made with all that is set": {
		agreed: `{}`, spec: `{'pools':[{'name':'a','size':2,'zones':['z']}]}`, upstream: `{}`, states: map[string]State{`pools["a"]`: Pushed},
		sets:      []string{`create: pools["a"],pools["a"].size,pools["a"].zones`},
		effective: `{'pools':[{'name':'a','size':2,'zones':['z']}]}`,
	},
	"a pool that is not listed stays": {
		agreed: `{'pools':[{'name':'a','size':2}]}`, spec: `{'pools':[]}`, upstream: `{'pools':[{'name':'a','size':2}]}`,
	},
	"a pool that is not listed goes, where a list is all there is": {
		agreed: `{'pools':[{'name':'a','size':2}]}`, spec: `{'pools':[]}`, upstream: `{'pools':[{'name':'a','size':2}]}`,
		policies: Policies{Exclusive: true}, states: map[string]State{`pools["a"]`: Pushed}, sets: []string{`delete: pools["a"]`}, message: `{'pools':[{'name':'a'}]}`,
		effective: `{'pools':[]}`,
	},
	"but not when somebody has just changed it": {
		agreed: `{'pools':[{'name':'a','size':2}]}`, spec: `{'pools':[]}`, upstream: `{'pools':[{'name':'a','size':3}]}`,
		policies: Policies{Exclusive: true}, states: map[string]State{`pools["a"]`: Conflict},
	},
	"a pool that was deleted in the cloud": {
		agreed: `{'pools':[{'name':'a','size':2}]}`, spec: `{'pools':[{'name':'a','size':2}]}`, upstream: `{}`,
		policies: Policies{Policy: Policy{External: Upstream}}, states: map[string]State{`pools["a"]`: Superseded}, decisions: 1, effective: `{'pools':[]}`,
	},
	"while the spec wanted more of it": {
		agreed: `{'pools':[{'name':'a','size':2}]}`, spec: `{'pools':[{'name':'a','size':3}]}`, upstream: `{}`,
		policies: Policies{Policy: Policy{External: Upstream}}, states: map[string]State{`pools["a"]`: Conflict},
	},
	"the size of a pool that scales itself is nobody's": {
		agreed: `{'pools':[{'name':'a','size':2,'scales':true}]}`, spec: `{'pools':[{'name':'a','size':5,'scales':true}]}`,
		upstream: `{'pools':[{'name':'a','size':9,'scales':true}]}`, states: map[string]State{`pools["a"].size`: Floating},
		effective: `{'pools':[{'name':'a','size':9,'scales':true}]}`,
	},
	"a taint goes with its line, and the labels are repeated": {
		agreed:   `{'pools':[{'name':'a','taints':[{'key':'k','effect':'E'},{'key':'l','effect':'E'}]}]}`,
		spec:     `{'pools':[{'name':'a','taints':[{'key':'l','effect':'E'}]}]}`,
		upstream: `{'pools':[{'name':'a','labels':{'x':'y'},'taints':[{'key':'l','effect':'E'},{'key':'k','effect':'E'}]}]}`,
		states:   map[string]State{`pools["a"].taints["k:E"]`: Pushed}, sets: []string{`pool: pools["a"].taints["k:E"]`},
		message: `{'pools':[{'name':'a','labels':{'x':'y'},'taints':[{'key':'l','effect':'E'}]}]}`,
	},
	"the last label and the last taint go": {
		agreed:   `{'pools':[{'name':'a','labels':{'x':'y'},'taints':[{'key':'k','effect':'E'}]}]}`,
		spec:     `{'pools':[{'name':'a','labels':{'x':null},'taints':[]}]}`,
		upstream: `{'pools':[{'name':'a','labels':{'x':'y'},'taints':[{'key':'k','effect':'E'}]}]}`,
		states:   map[string]State{`pools["a"].labels["x"]`: Pushed, `pools["a"].taints["k:E"]`: Pushed},
		sets:     []string{`pool: pools["a"].labels["x"],pools["a"].taints["k:E"]`},
		message:  `{'pools':[{'name':'a','labels':{},'taints':[]}]}`,
	},
	"a taint from the console": {
		agreed: `{'pools':[{'name':'a','taints':[]}]}`, spec: `{'pools':[{'name':'a','taints':[]}]}`,
		upstream: `{'pools':[{'name':'a','taints':[{'key':'k','effect':'E'}]}]}`,
		states:   map[string]State{`pools["a"].taints["k:E"]`: Drifted},
	},
	"written back": {
		agreed: `{'access':{'public':true},'tags':{'a':'1'},'version':'1'}`, spec: `{'access':{'public':true},'tags':{'a':'1'},'version':'1'}`,
		upstream: `{'version':'2'}`, policies: Policies{Policy: Policy{External: Upstream, WriteBack: true}},
		states:    map[string]State{"access.public": WrittenBack, `tags["a"]`: WrittenBack, "version": WrittenBack},
		decisions: 3, back: map[string]any{"access.public": false, `tags["a"]`: nil, "version": "2"},
	},
}

func TestMerge(t *testing.T) {
	for name, test := range mergeCases {
		t.Run(name, func(t *testing.T) {
			agreed := object(t, test.agreed)
			in := Input{
				Table: toy, Spec: object(t, test.spec), Upstream: object(t, test.upstream), Complete: true, Policies: test.policies,
				Published: agreed, Now: time.Unix(1000, 0), Versions: map[string]string{"": "v", `pools["a"]`: "w"},
				Base: Merge(Input{Table: toy, Spec: agreed, Upstream: agreed, Complete: true, Policies: test.policies}).Base,
			}
			if test.published != "" {
				in.Published = object(t, test.published)
			}
			plan := Merge(in)
			states := map[string]State{}
			for _, leaf := range plan.Leaves {
				if leaf.State != Agreed {
					states[leaf.Path] = leaf.State
				}
			}
			check(t, "states", states, test.states)
			var sets []string
			for _, w := range plan.Writes {
				sets = append(sets, w.Call+": "+paths(w.Set))
				if want := in.Versions[w.Item]; w.Version != want {
					t.Errorf("%s of %q goes with version %q, want %q", w.Call, w.Item, w.Version, want)
				}
			}
			check(t, "what is sent", sets, test.sets)
			if test.message != "" {
				check(t, "message", plan.Writes[0].Message, object(t, test.message))
			}
			check(t, "written back", plan.SpecWrites, test.back)
			if test.effective != "" {
				check(t, "effective", plan.Effective, object(t, test.effective))
			}
			if len(plan.Decisions) != test.decisions {
				t.Errorf("%d decisions, want %d: %+v", len(plan.Decisions), test.decisions, plan.Decisions)
			}
			// With the base stored, the next merge decides the same: if the process ends before some
			// requests, nothing is lost.
			in.Base, in.Conflicts, in.Published = plan.Base, plan.Conflicts, in.Upstream
			in.Now = in.Now.Add(time.Hour)
			for _, leaf := range Merge(in).Leaves {
				if state, ok := states[leaf.Path]; ok && leaf.State != state {
					t.Errorf("%s is %s after a crash, and was %s", leaf.Path, leaf.State, state)
				}
			}
			in.Complete = false
			if diff := cmp.Diff(Plan{}, Merge(in)); diff != "" {
				t.Errorf("half a read decides:\n%s", diff)
			}
		})
	}
}

// TestResolutions resolves a conflict, and tries the resolution of an older one.
func TestResolutions(t *testing.T) {
	now := time.Unix(1000, 0)
	in := Input{
		Table: toy, Complete: true, Now: now, Base: map[string]Base{"version": {true, `"1"`, `"1"`}},
		Spec: map[string]any{"version": "2"}, Upstream: map[string]any{"version": "3"},
	}
	open := Merge(in).Conflicts
	in.Conflicts, in.Now = open, now.Add(time.Minute)
	for name, test := range map[string]struct {
		take  Side
		hash  string
		spec  string
		since []OpenConflict
		want  State
	}{
		"for the spec":                    {Spec, open[0].Hash, "2", open, Pushed},
		"for the cloud":                   {Upstream, open[0].Hash, "2", open, Superseded},
		"for a spec that was changed too": {Spec, open[0].Hash, "4", open, Pushed},
		"without a hash":                  {Spec, "", "2", open, Conflict},
		"of an older one, with the same":  {Spec, open[0].Hash, "2", nil, Conflict},
	} {
		t.Run(name, func(t *testing.T) {
			in := in
			in.Spec, in.Conflicts = map[string]any{"version": test.spec}, test.since
			in.Policies.Resolutions = []Resolution{{Path: "version", Take: test.take, Hash: test.hash}}
			plan := Merge(in)
			if got := plan.Leaves[0].State; got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
			// The resolution holds until it is carried out, because the request may have been refused.
			in.Base, in.Conflicts = plan.Base, plan.Conflicts
			in.Now = in.Now.Add(time.Minute)
			if got := Merge(in).Leaves[0].State; got != test.want {
				t.Errorf("got %s the next time, want %s", got, test.want)
			}
			if stale := len(plan.Stale) == 1; stale != (test.want == Conflict) {
				t.Errorf("stale: %v", plan.Stale)
			}
		})
	}
}

// FuzzMerge merges any two configurations. It checks that nothing is sent that the spec does not set, and
// that a merge after an agreement needs nothing more.
func FuzzMerge(f *testing.F) {
	for _, test := range mergeCases {
		f.Add(strings.ReplaceAll(test.spec, "'", `"`), strings.ReplaceAll(test.upstream, "'", `"`), true)
	}
	f.Fuzz(func(t *testing.T, spec, upstream string, exclusive bool) {
		in := Input{Table: toy, Complete: true, Published: map[string]any{}, Policies: Policies{Exclusive: exclusive}}
		if json.Unmarshal([]byte(spec), &in.Spec) != nil || json.Unmarshal([]byte(upstream), &in.Upstream) != nil {
			t.Skip()
		}
		set := toy.read(in.Spec)
		plan := Merge(in)
		for _, w := range plan.Writes {
			for path, value := range w.Set {
				if set.at[path] == nil && value != nil {
					t.Errorf("%s is sent, and not set", path)
				}
			}
		}
		in.Upstream, in.Base, in.Sent = plan.Effective, plan.Base, map[string]Text{}
		for _, w := range plan.Writes {
			maps.Copy(in.Sent, w.Sent)
		}
		if writes := Merge(in).Writes; writes != nil {
			t.Errorf("once what was sent is there, more is sent: %+v", writes)
		}
		again := toy.build(toy.read(plan.Effective))
		if diff := cmp.Diff(plan.Effective, again, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("what was put together is not read as the same:\n%s", diff)
		}
	})
}

func check(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func paths(m map[string]any) string { return strings.Join(slices.Sorted(maps.Keys(m)), ",") }
