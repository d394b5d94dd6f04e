package metrics

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
