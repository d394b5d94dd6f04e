package preview

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/tables"
	"github.com/spillway-io/spillway/hosted/ledger"
	"github.com/spillway-io/spillway/hosted/merge"
)

// differing is a status in which the field a is in conflict, b is Superseded, d is Drifted, and maxPods of the pool
// is ImmutableDiffers. Somebody has deleted the pool q, and added the pool r.
const differing = `{base: [{path: 'tags["a"]', spec: '"0"', upstream: '"0"'}, {path: 'tags["b"]', spec: '"1"', upstream: '"2"'},
	{path: 'tags["d"]', spec: '"1"', upstream: '"1"'}, {path: 'nodePools["q"]', spec: '"x"', upstream: 'null'},
	{path: 'nodePools["q"].count', spec: '1', upstream: ''}, {path: 'nodePools["r"]', spec: 'null', upstream: '"x"'}, {path: nodePools, spec: 'null', upstream: 'null'}],
	conflicts: [{path: 'tags["a"]', base: '"0"', spec: '"1"', upstream: '"2"', upstreamHash: h1, since: "2026-01-01T00:00:00Z"}],
	upstreamSpec: {aksConfig: {` + identity + `tags: {a: "2", b: "2", d: "2", e: "2"}, kubernetesVersion: 1.33.2, nodePools: [{name: p, maxPods: 30, mode: User}, {name: r}]}}}`

func differingObject(t *testing.T) (*v1alpha1.HostedCluster, *Plan) {
	t.Helper()
	h := object(t, `{nodePoolPolicy: Exclusive, sync: {overrides: [{path: 'tags["d"]', external: Report}]}, `+
		spec(`tags: {a: "1", b: "1", c: null, d: "1"}, nodePools: [{name: p, maxPods: 20}, {name: q, count: 1}]`)[1:], differing)
	plan, err := Of(h, h.Spec, time.Unix(1767225700, 0))
	if err != nil {
		t.Fatal(err)
	}
	return h, plan
}

func TestResolve(t *testing.T) {
	h, plan := differingObject(t)
	states := map[string]string{}
	for _, f := range plan.Fields {
		states[f.Path] = f.State
	}
	tests := map[string]struct {
		path  string
		take  merge.Side
		state merge.State
		// specs has for each spec what is there at the path, or the resolution.
		specs []string
		lost  string
		err   string
	}{
		"a conflict, the spec":    {`tags["a"]`, merge.Spec, merge.Conflict, []string{`resolution Spec h1`}, `"2"`, ""},
		"a conflict, the cloud":   {`tags["a"]`, merge.Upstream, merge.Conflict, []string{`"2"`}, `"1"`, ""},
		"superseded, the cloud":   {`tags["b"]`, merge.Upstream, merge.Superseded, []string{`"2"`}, `"1"`, ""},
		"superseded, the spec":    {`tags["b"]`, merge.Spec, merge.Superseded, []string{``, `"1"`}, `"2"`, ""},
		"drifted, the cloud":      {`tags["d"]`, merge.Upstream, merge.Drifted, []string{`"2"`}, `"1"`, ""},
		"drifted, the spec":       {`tags["d"]`, merge.Spec, merge.Drifted, []string{``, `"1"`}, `"2"`, ""},
		"immutable, the cloud":    {`nodePools["p"].maxPods`, merge.Upstream, merge.ImmutableDiffers, []string{`30`}, `20`, ""},
		"immutable, the spec":     {`nodePools["p"].maxPods`, merge.Spec, merge.ImmutableDiffers, nil, "", "cannot be changed in the cloud"},
		"a deleted pool, gone":    {`nodePools["q"]`, merge.Upstream, merge.Superseded, []string{``}, `"exists"`, ""},
		"a deleted pool, again":   {`nodePools["q"]`, merge.Spec, merge.Superseded, []string{``, `true`}, `"absent"`, ""},
		"an added pool, adopted":  {`nodePools["r"]`, merge.Upstream, merge.Superseded, []string{`true`}, `"absent"`, ""},
		"an added pool, deleted":  {`nodePools["r"]`, merge.Spec, merge.Superseded, []string{`true`, ``}, `"exists"`, ""},
		"no conflict":             {`resourceGroup`, merge.Spec, merge.Agreed, nil, "", `both sides agree on "rg"`},
		"not managed":             {`kubernetesVersion`, merge.Spec, "", nil, "", "the spec does not set kubernetesVersion"},
		"an unknown name":         {`color`, merge.Spec, "", nil, "", `there is no field color; fields that differ: nodePools["p"].maxPods, `},
		"a name in another style": {`tags.a`, merge.Spec, "", nil, "", "there is no field tags.a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if states[test.path] != string(test.state) {
				t.Fatalf("the state is %q, want %q", states[test.path], test.state)
			}
			r, err := Resolve(h, plan, test.path, test.take)
			if test.err != "" || err != nil {
				if err == nil || test.err == "" || !strings.Contains(err.Error(), test.err) {
					t.Errorf("got %v, want %s", err, test.err)
				}
				return
			}
			var specs []string
			for _, s := range r.Specs {
				specs = append(specs, at(t, s, test.path))
			}
			if diff := cmp.Diff(test.specs, specs); diff != "" || string(r.Lost) != test.lost {
				t.Errorf("lost %s, want %s; -want +got:\n%s", r.Lost, test.lost, diff)
			}
		})
	}
}

// at returns the value of a spec at a path, or its resolution.
func at(t *testing.T, spec v1alpha1.HostedClusterSpec, path string) string {
	t.Helper()
	for _, r := range spec.Sync.Resolutions {
		return fmt.Sprintf("resolution %s %s", r.Take, r.UpstreamHash)
	}
	config, err := ledger.Tree(spec.ClusterConfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, value := range merge.ValuesOf(tables.Of(spec.ClusterConfig), config) {
		if value.Path == path {
			return string(jsonText(value.Value))
		}
	}
	return ""
}

// TestResolutionsAreBounded: a new resolution takes the place of one that has no effect.
func TestResolutionsAreBounded(t *testing.T) {
	h, _ := differingObject(t)
	for i := range maxResolutions {
		h.Spec.Sync.Resolutions = append(h.Spec.Sync.Resolutions, v1alpha1.Resolution{Path: fmt.Sprintf("tags[\"%d\"]", i), Take: v1alpha1.SideSpec, UpstreamHash: "old"})
	}
	h.Spec.Sync.Resolutions[3] = v1alpha1.Resolution{Path: `tags["a"]`, Take: v1alpha1.SideSpec, UpstreamHash: "h1"}
	got := withResolution(h, v1alpha1.Resolution{Path: "new", Take: v1alpha1.SideSpec, UpstreamHash: "h"}).Sync.Resolutions
	if len(got) != 2 || got[0].Path != `tags["a"]` || got[1].Path != "new" {
		t.Errorf("got %+v", got)
	}
	again := withResolution(h, v1alpha1.Resolution{Path: `tags["5"]`, Take: v1alpha1.SideUpstream, UpstreamHash: "h"}).Sync.Resolutions
	if len(again) != maxResolutions || again[maxResolutions-1].UpstreamHash != "h" {
		t.Errorf("got %d", len(again))
	}
}

// TestPatchable: a merge patch may set a key, and nothing in a list.
func TestPatchable(t *testing.T) {
	h, plan := differingObject(t)
	for path, want := range map[string]bool{`tags["b"]`: true, `nodePools["p"].maxPods`: false, `nodePools["q"]`: false} {
		r, err := Resolve(h, plan, path, merge.Upstream)
		if err != nil || r.Patchable != want || r.Gone {
			t.Errorf("%s: %+v, %v", path, r, err)
		}
	}
	if r, err := Resolve(h, plan, `nodePools["r"]`, merge.Spec); err != nil || !r.Gone || r.Patchable {
		t.Errorf("a pool that the cloud is to delete: %+v, %v", r, err)
	}
}
