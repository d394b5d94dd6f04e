package mapping

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// TestAPI: the offloading of a namespace lists its ServiceAccounts, and a verdict counts for the spec that it is
// about.
func TestAPI(t *testing.T) {
	nso := &v1alpha1.NamespaceOffloading{}
	nso.Spec.APIAccess.ServiceAccounts = []v1alpha1.ServiceAccountName{"controller"}
	binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	m := New(provenance.Mark{}, binding, nil, LocalNamespaces{Offloading: func(namespace string) *v1alpha1.NamespaceOffloading {
		if namespace == "team" {
			return nso
		}
		return nil
	}})
	for who, want := range map[[2]string]bool{{"team", "controller"}: true, {"team", "default"}: false, {"other", "controller"}: false} {
		if got := API(m).Grants(who[0], who[1]); got != want {
			t.Errorf("%v gets tokens: %v", who, got)
		}
	}
	if got := API(m); got.Endpoint != nil || got.Invalid != "" {
		t.Errorf("a binding that says nothing: %v", got)
	}
	binding.Spec.ConsumerAPI.Host = "api.example.com"
	for generation, want := range map[int64]string{1: "", 2: "another host"} {
		conditions.Set(&binding.Status.Conditions, generation, conditions.New(v1alpha1.BindingConsumerAPI, metav1.ConditionFalse, v1alpha1.ReasonCertificateMismatch, "another host"))
		if got := API(m); got.Endpoint == nil || got.Invalid != want {
			t.Errorf("a verdict about generation %d: %v", generation, got)
		}
	}
}
