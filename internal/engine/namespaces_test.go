package engine

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/engine/mapping"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestDiffer checks that only those steps of a deletion that decisions depend on enqueue all objects. Steps
// that are only reported do not.
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

// TestIsCopy checks this because a provider may claim that its object represents any local one.
func TestIsCopy(t *testing.T) {
	of := func(resource v1alpha1.OffloadedResource) Registration {
		return Register(kind.Kind[*corev1.Service]{
			New: func() *corev1.Service { return &corev1.Service{} }, Selection: kind.InMappedNamespace, Resource: resource, RemoteName: kind.Namespaced{}.RemoteName,
		})
	}
	w := mapping.LocalNamespaces{
		Selects:       func(*v1alpha1.ClusterBinding, string) bool { return false },
		Offloading:    func(namespace string) *v1alpha1.NamespaceOffloading { return builder.Offloading(namespace).Obj() },
		IsTerminating: func(string) bool { return false },
	}
	nsm := builder.Map("eu").Desired("team", "team-home").Accepted("team", "team-home").Obj()
	n := &namespaces{}
	n.mapping.Store(mapping.New(provenance.Mark{ClusterID: "eu"}, builder.Binding("eu").Obj(), nsm, w))
	web := types.NamespacedName{Namespace: "team", Name: "web"}
	for name, test := range map[string]struct {
		kind          Registration
		local, remote types.NamespacedName
		want          bool
	}{
		"its copy":                          {of(v1alpha1.OffloadedServices), web, types.NamespacedName{Namespace: "team-home", Name: "web"}, true},
		"the copy of another":               {of(v1alpha1.OffloadedServices), web, types.NamespacedName{Namespace: "team-home", Name: "other"}, false},
		"in another namespace":              {of(v1alpha1.OffloadedServices), web, types.NamespacedName{Namespace: "mount", Name: "web"}, false},
		"of a namespace that goes nowhere":  {of(v1alpha1.OffloadedServices), types.NamespacedName{Namespace: "secret", Name: "web"}, types.NamespacedName{Name: "web"}, false},
		"of a kind that the team keeps out": {of(v1alpha1.OffloadedPodDisruptionBudgets), web, types.NamespacedName{Namespace: "team-home", Name: "web"}, false},
	} {
		if got := n.isCopy(test.kind, test.local, test.remote); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
