package metrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestPhases(t *testing.T) {
	none := func() map[string]int {
		return map[string]int{"Pending": 0, "Accepted": 0, "CreationLoopBackOff": 0, "Terminating": 0}
	}
	all := map[string]int{"Pending": 1, "Accepted": 2, "CreationLoopBackOff": 1, "Terminating": 1}
	tests := map[string]struct {
		nsm  *v1alpha1.NamespaceMap
		want map[string]int
	}{
		"an empty map has every phase": {builder.Map("eu").Obj(), none()},
		"each counts once": {builder.Map("eu").Accepted("a", "ra").Accepted("b", "rb").Desired("c", "rc").
			Desired("d", "rd").Current("d", "rd", v1alpha1.MappingCreationLoopBackOff, "", "").
			Current("e", "re", v1alpha1.MappingTerminating, "", "").Obj(), all},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, phases(test.nsm)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestOldest(t *testing.T) {
	at := func(phase v1alpha1.MappingPhase, since int64) v1alpha1.CurrentMapping {
		return v1alpha1.CurrentMapping{Phase: phase, Since: ptr.To(metav1.Unix(since, 0))}
	}
	nsm := &v1alpha1.NamespaceMap{Status: v1alpha1.NamespaceMapStatus{CurrentMapping: []v1alpha1.CurrentMapping{
		at(v1alpha1.MappingTerminating, 30), at(v1alpha1.MappingTerminating, 10), at(v1alpha1.MappingTerminating, 20), at(v1alpha1.MappingAccepted, 5),
		{Phase: v1alpha1.MappingCreationLoopBackOff}, // From a manager that did not know when.
	}}}
	want := map[v1alpha1.MappingPhase]int64{v1alpha1.MappingTerminating: 10, v1alpha1.MappingAccepted: 5}
	if diff := cmp.Diff(want, oldest(nsm)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestPending: each entry counts from when it was first seen without a result, and no more once there is one.
func TestPending(t *testing.T) {
	one, two := builder.Map("eu").Desired("a", "ra").Obj(), builder.Map("eu").Desired("a", "ra").Desired("b", "rb").Obj()
	goes := one.DeepCopy()
	goes.DeletionTimestamp = ptr.To(metav1.Unix(1, 0))
	none, eu := sets.New[string](), sets.New("eu")
	var p pending
	for _, step := range []struct {
		what   string
		nsm    *v1alpha1.NamespaceMap
		paused sets.Set[string]
		at     int64
		want   map[string]int64
	}{
		{"the first", one, none, 10, map[string]int64{"eu": 10}},
		{"it stays", two, none, 20, map[string]int64{"eu": 10}},
		{"the first has a result", builder.Map("eu").Accepted("a", "ra").Desired("b", "rb").Obj(), none, 30, map[string]int64{"eu": 20}},
		{"it is pending again", one, none, 40, map[string]int64{"eu": 40}},
		{"somebody pauses", one, eu, 50, map[string]int64{}},
		{"and goes on", one, none, 60, map[string]int64{"eu": 60}},
		{"the map goes", goes, none, 70, map[string]int64{}},
	} {
		if diff := cmp.Diff(step.want, p.oldest([]v1alpha1.NamespaceMap{*step.nsm}, step.paused, step.at)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", step.what, diff)
		}
	}
	if len(p.since) > 0 {
		t.Errorf("%v is remembered", p.since)
	}
}
