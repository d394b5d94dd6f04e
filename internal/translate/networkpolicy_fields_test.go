package translate

import (
	"reflect"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// inPolicy returns a subject that is somewhere in a NetworkPolicy.
func inPolicy[T any](fields decisions, where func(*networkingv1.NetworkPolicySpec) *T) subject {
	return subject{reflect.TypeFor[T](), fields, anywhereIn(func(t *testing.T) *networkingv1.NetworkPolicy {
		t.Helper()
		return policyOf(t, `
podSelector: {}
ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 1}]}]
egress: [{to: [{podSelector: {}}]}]`)
	}, func(p *networkingv1.NetworkPolicy) *T { return where(&p.Spec) }, func(local *networkingv1.NetworkPolicy) (*networkingv1.NetworkPolicy, *field.Problem) {
		remote, _, refusal := NetworkPolicy(local, mapped, generous, func() []PeerNamespace { return peers })
		return remote, refusal
	}, inPlace(MergeNetworkPolicy))}
}
