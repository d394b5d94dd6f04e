package merge

import (
	"testing"
	"time"
)

// TestChanging: a pool that is being changed is left as the previous merge had it, and all else is decided.
func TestChanging(t *testing.T) {
	const agreed = `{'tags':{'t':'1'},'pools':[{'name':'a','labels':{'x':'1'}}]}`
	tests := map[string]struct {
		spec, upstream string
		stored         State
		// states are those of the label and of the pool; want are the writes.
		states    [2]State
		want      string
		effective string
	}{
		"nothing else": {spec: agreed, upstream: agreed, stored: Agreed, states: [2]State{Agreed, Agreed}, effective: agreed},
		"half a change in the cloud": {
			spec: agreed, upstream: `{'tags':{'t':'1'},'pools':[{'name':'a','labels':{'x':'2'}}]}`, stored: Agreed, states: [2]State{Agreed, Agreed}, effective: agreed,
		},
		"an edit of it": {
			spec: `{'pools':[{'name':'a','labels':{'x':'3'}}]}`, upstream: agreed, stored: Agreed, states: [2]State{Pushed, Agreed},
			effective: `{'tags':{'t':'1'},'pools':[{'name':'a','labels':{'x':'3'}}]}`,
		},
		"it was in conflict": {
			spec: `{'pools':[{'name':'a','labels':{'x':'3'}}]}`, upstream: agreed, stored: Conflict, states: [2]State{Conflict, Agreed},
		},
		"an edit of something else": {spec: `{'tags':{'t':'2'},'pools':[{'name':'a'}]}`, upstream: agreed, states: [2]State{"", Agreed}, want: `tag: tags["t"]`},
		"it is deleted by now":      {spec: agreed, upstream: `{'tags':{'t':'1'},'pools':[]}`, stored: Agreed, states: [2]State{Agreed, Agreed}, effective: agreed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			was := object(t, agreed)
			base := Merge(Input{Table: toy, Spec: was, Upstream: was, Complete: true}).Base
			label, pool := `pools["a"].labels["x"]`, `pools["a"]`
			in := Input{
				Table: toy, Spec: object(t, test.spec), Complete: true, Published: was, Base: base, Changing: []string{pool}, Now: time.Unix(1000, 0),
				Stored: Stored{States: map[string]State{label: test.stored, pool: Agreed}}, Policies: Policies{Policy: Policy{External: Upstream}},
			}
			in.Upstream = toy.Keep(object(t, test.upstream), was, in.Changing)
			plan := Merge(in)
			states := map[string]State{}
			for _, leaf := range plan.Leaves {
				states[leaf.Path] = leaf.State
			}
			if states[label] != test.states[0] || states[pool] != test.states[1] || len(plan.Decisions) > 0 {
				t.Errorf("states %v, decisions %v", states, plan.Decisions)
			}
			if test.stored != "" && plan.Base[label] != base[label] {
				t.Errorf("the base is %+v", plan.Base[label])
			}
			got := ""
			for _, w := range plan.Writes {
				got += w.Call + ": " + paths(w.Set)
			}
			check(t, "what is sent", got, test.want)
			if test.effective != "" {
				check(t, "effective", plan.Effective, object(t, test.effective))
			}
		})
	}
}

// TestChangingNewPool: what the spec wanted of a pool is still wanted once the pool was created. Until then, its
// fields are effective, and a newly set field is compared with what was published when it was set.
func TestChangingNewPool(t *testing.T) {
	spec := object(t, `{'pools':[{'name':'a','labels':{'x':'1'}}]}`)
	in := Input{Table: toy, Spec: spec, Upstream: map[string]any{}, Published: map[string]any{}, Complete: true, Changing: []string{`pools["a"]`}}
	plan := Merge(in)
	check(t, "effective", plan.Effective, spec)
	if len(plan.Writes) > 0 || plan.Base[`pools["a"]`].SpecSet {
		t.Errorf("writes %v, base %v", plan.Writes, plan.Base)
	}
	in.Changing, in.Base = nil, plan.Base
	if writes := Merge(in).Writes; len(writes) != 1 || writes[0].Call != "create" {
		t.Errorf("once it was not created: %v", writes)
	}
	was := object(t, `{'pools':[{'name':'a','labels':{'x':'0'}}]}`)
	in = Input{Table: toy, Spec: spec, Upstream: was, Published: was, Complete: true, Changing: []string{`pools["a"]`}}
	in.Base, in.Changing = Merge(in).Base, nil
	in.Published = object(t, `{'pools':[{'name':'a','labels':{'x':'2'}}]}`)
	in.Upstream = in.Published
	if conflicts := Merge(in).Conflicts; len(conflicts) != 1 || conflicts[0].Base != `"0"` {
		t.Errorf("conflicts %+v", conflicts)
	}
}

// TestTried: an operation has failed. What it has changed nevertheless counts as ours, and all else as before.
func TestTried(t *testing.T) {
	was := object(t, `{'tags':{'a':'1','b':'1'}}`)
	base := Merge(Input{Table: toy, Spec: was, Upstream: was, Complete: true}).Base
	plan := Merge(Input{
		Table: toy, Spec: object(t, `{'tags':{'a':'3','b':'3'}}`), Upstream: object(t, `{'tags':{'a':'2','b':'1'}}`), Published: was, Complete: true,
		Base: base, Tried: map[string]Text{`tags["a"]`: `"2"`, `tags["b"]`: `"2"`},
	})
	for _, leaf := range plan.Leaves {
		if leaf.State != Pushed {
			t.Errorf("%s is %s", leaf.Path, leaf.State)
		}
	}
	if len(plan.Conflicts)+len(plan.Decisions) > 0 {
		t.Errorf("conflicts %v, decisions %v", plan.Conflicts, plan.Decisions)
	}
}
