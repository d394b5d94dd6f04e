package clusterbinding

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// expectConditions checks the conditions of these types that a status has.
func expectConditions(t *testing.T, status v1alpha1.ClusterBindingStatus, want []string, types ...string) {
	t.Helper()
	var got []string
	for _, kind := range types {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			got = append(got, kind+"="+string(c.Status)+" "+c.Reason+": "+c.Message)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
