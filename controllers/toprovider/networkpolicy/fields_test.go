package networkpolicy

import (
	"reflect"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// inPolicy returns a subject that is somewhere in a NetworkPolicy.
func inPolicy[T any](fields field.Decisions, where func(*networkingv1.NetworkPolicySpec) *T) fieldtest.Subject {
	return fieldtest.Subject{Kind: reflect.TypeFor[T](), Fields: fields, Translate: fieldtest.AnywhereIn(func(t *testing.T) *networkingv1.NetworkPolicy {
		t.Helper()
		return policyOf(t, `
podSelector: {}
ingress: [{from: [{ipBlock: {cidr: 10.0.0.0/8}}], ports: [{port: 1}]}]
egress: [{to: [{podSelector: {}}]}]`)
	}, func(p *networkingv1.NetworkPolicy) *T { return where(&p.Spec) }, func(local *networkingv1.NetworkPolicy) (*networkingv1.NetworkPolicy, *field.Problem) {
		remote, _, refusal := toRemote(local, fieldtest.Mapped, fieldtest.Generous, func() []decide.PeerNamespace { return peers })
		return remote, refusal
	}, fieldtest.InPlace(merge))}
}
func TestNetworkpolicyFields(t *testing.T) {
	fieldtest.CheckDecisions(t, map[string]fieldtest.Subject{
		"NetworkPolicySpec": inPolicy(networkPolicySpecFields, func(s *networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicySpec { return s }),
		"NetworkPolicyIngressRule": inPolicy(networkPolicyIngressRuleFields, func(s *networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicyIngressRule {
			return &s.Ingress[0]
		}),
		"NetworkPolicyEgressRule": inPolicy(networkPolicyEgressRuleFields, func(s *networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicyEgressRule {
			return &s.Egress[0]
		}),
		"NetworkPolicyPeer": inPolicy(networkPolicyPeerFields, func(s *networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicyPeer {
			return &s.Egress[0].To[0]
		}),
		"NetworkPolicyPort": inPolicy(networkPolicyPortFields, func(s *networkingv1.NetworkPolicySpec) *networkingv1.NetworkPolicyPort {
			return &s.Ingress[0].Ports[0]
		}),
		"IPBlock": inPolicy(ipBlockFields, func(s *networkingv1.NetworkPolicySpec) *networkingv1.IPBlock { return s.Ingress[0].From[0].IPBlock }),
	})
}
