package networkpolicy

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/spillway-io/spillway/internal/consumer/views"
)

// TestHeldPolicies tests empty rules: each takes sixteen times as much memory here as in the API server.
func TestHeldPolicies(t *testing.T) {
	kind := Kind()
	rules := make([]networkingv1.NetworkPolicyIngressRule, 700_000)
	got := views.Trim(&networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{Ingress: rules}}, kind.TrimAny).(*networkingv1.NetworkPolicy)
	if got.Spec.Ingress != nil {
		t.Errorf("%d rules are held", len(got.Spec.Ingress))
	}
}
