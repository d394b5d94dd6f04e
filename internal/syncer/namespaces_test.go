package syncer

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestDiffer: passes are made over all objects for the steps of a deletion that are
// decided on, and not for each that is reported.
func TestDiffer(t *testing.T) {
	drains := func(reason string) *v1alpha1.ClusterBinding {
		return builder.Binding("eu").Deleted(0).Condition(v1alpha1.BindingDrained, metav1.ConditionFalse, reason, "").Obj()
	}
	changed := builder.Binding("eu").Obj()
	changed.Generation++
	mounting := func(status metav1.ConditionStatus, reason string) *v1alpha1.ClusterBinding {
		return builder.Binding("eu").MountNamespace("mount").Condition(v1alpha1.BindingMountNamespaceReady, status, reason, "").Obj()
	}
	for name, test := range map[string]struct {
		a, b *v1alpha1.ClusterBinding
		want bool
	}{
		"the same":                            {builder.Binding("eu").Obj(), builder.Binding("eu").Obj(), false},
		"another spec":                        {builder.Binding("eu").Obj(), changed, true},
		"its heartbeat":                       {builder.Binding("eu").Obj(), builder.Binding("eu").Connected().Obj(), false},
		"the mount namespace has become ours": {mounting(metav1.ConditionFalse, v1alpha1.ReasonNameConflict), mounting(metav1.ConditionTrue, v1alpha1.ReasonNamespaceActive), true},
		"from cordoning to the pods":          {drains(v1alpha1.ReasonCordoning), drains(v1alpha1.ReasonEvictingPods), false},
		"from the pods to the copies":         {drains(v1alpha1.ReasonEvictingPods), drains(v1alpha1.ReasonDeletingCopies), true},
		"from the copies to the namespaces":   {drains(v1alpha1.ReasonDeletingCopies), drains(v1alpha1.ReasonDeletingNamespaces), false},
	} {
		if got := differ(test.a, test.b); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
