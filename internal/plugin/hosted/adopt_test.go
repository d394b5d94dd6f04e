package hosted

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/merge"
	"github.com/spillway-io/spillway/hosted/preview"
)

func TestApart(t *testing.T) {
	for list, want := range map[string][]string{
		"a":                       {"a"},
		`tags["a,b"],tags["c"].d`: {`tags["a,b"]`, `tags["c"].d`},
		`tags["a\",b"],c`:         {`tags["a\",b"]`, "c"},
	} {
		if diff := cmp.Diff(want, apart(list)); diff != "" {
			t.Errorf("%s: -want +got:\n%s", list, diff)
		}
	}
}

// TestLost: what was lost is what the operator has noted since, and nothing that must not be shown.
func TestLost(t *testing.T) {
	old := v1alpha1.Decision{Path: "a", Take: v1alpha1.SideSpec, Lost: `"old"`}
	since := v1alpha1.Decision{Path: "a", Take: v1alpha1.SideSpec, Lost: `"new"`}
	for name, test := range map[string]struct {
		has    []v1alpha1.Decision
		secret bool
		want   string
	}{
		"nothing is noted":   {[]v1alpha1.Decision{old}, false, `"planned"`},
		"it is noted":        {[]v1alpha1.Decision{old, since}, false, `"new"`},
		"it is a secret":     {[]v1alpha1.Decision{old, since}, true, `"planned"`},
		"it is another path": {[]v1alpha1.Decision{old, {Path: "b", Take: v1alpha1.SideSpec, Lost: `"b"`}}, false, `"planned"`},
	} {
		d := decision{take: merge.Spec, noted: []v1alpha1.Decision{old}, Resolution: &preview.Resolution{Field: preview.Field{Path: "a"}, Lost: `"planned"`, Secret: test.secret}}
		if got := d.lost(&v1alpha1.HostedCluster{Status: v1alpha1.HostedClusterStatus{Decisions: test.has}}); got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestDone: a decision has done its work once both sides agree. Another conflict of the field ends the wait.
func TestDone(t *testing.T) {
	for name, test := range map[string]struct {
		status v1alpha1.HostedClusterStatus
		take   merge.Side
		gone   bool
		done   bool
		failed bool
	}{
		"it is being sent":         {v1alpha1.HostedClusterStatus{Managed: []v1alpha1.ManagedField{{Path: "a", State: "Pushed"}}}, merge.Spec, false, false, false},
		"both agree":               {v1alpha1.HostedClusterStatus{Managed: []v1alpha1.ManagedField{{Path: "a", State: "Agreed"}}}, merge.Spec, false, true, false},
		"it is not managed":        {v1alpha1.HostedClusterStatus{}, merge.Spec, false, false, false},
		"the item is gone":         {v1alpha1.HostedClusterStatus{}, merge.Spec, true, true, false},
		"the cloud's value holds":  {v1alpha1.HostedClusterStatus{Managed: []v1alpha1.ManagedField{{Path: "a", State: "Superseded"}}}, merge.Upstream, false, true, false},
		"the request is refused":   {v1alpha1.HostedClusterStatus{Operations: []v1alpha1.Operation{{Message: "no", Sent: []v1alpha1.SentField{{Path: "a"}}}}}, merge.Spec, false, false, true},
		"the cloud is busy":        {v1alpha1.HostedClusterStatus{Operations: []v1alpha1.Operation{{Message: "no", Reason: v1alpha1.ReasonBusy, Sent: []v1alpha1.SentField{{Path: "a"}}}}}, merge.Spec, false, false, false},
		"the conflict is another":  {v1alpha1.HostedClusterStatus{Conflicts: []v1alpha1.Conflict{{Path: "a", UpstreamHash: "new"}}}, merge.Spec, false, false, true},
		"the conflict is the same": {v1alpha1.HostedClusterStatus{Conflicts: []v1alpha1.Conflict{{Path: "a", UpstreamHash: "h"}}}, merge.Spec, false, false, false},
	} {
		d := decision{take: test.take, Resolution: &preview.Resolution{Hash: "h", Gone: test.gone, Field: preview.Field{Path: "a"}}}
		done, err := d.done(&v1alpha1.HostedCluster{Status: test.status})
		if done != test.done || (err != nil) != test.failed {
			t.Errorf("%s: %v, %v", name, done, err)
		}
	}
}
