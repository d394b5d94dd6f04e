package networkpolicy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// TestCutPolicy: a policy with too many parts of any kind keeps only its podSelector, and is refused. A
// policy that is just small enough stays as it is.
func TestCutPolicy(t *testing.T) {
	selector := metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	peers, ports := make([]networkingv1.NetworkPolicyPeer, mostPolicyParts-1), make([]networkingv1.NetworkPolicyPort, mostPolicyParts-1)
	valued := networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Values: make([]string, mostPolicyParts)}}}}
	for name, test := range map[string]struct {
		spec networkingv1.NetworkPolicySpec
		cut  bool
	}{
		"most ingress rules": {networkingv1.NetworkPolicySpec{Ingress: make([]networkingv1.NetworkPolicyIngressRule, mostPolicyParts)}, false},
		"too many of them":   {networkingv1.NetworkPolicySpec{Ingress: make([]networkingv1.NetworkPolicyIngressRule, mostPolicyParts+1)}, true},
		"egress rules":       {networkingv1.NetworkPolicySpec{Egress: make([]networkingv1.NetworkPolicyEgressRule, mostPolicyParts+1)}, true},
		"most peers":         {networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: peers}}}, false},
		"peers and ports":    {networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: peers, Ports: ports[:1]}}}, true},
		"values of a peer":   {networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{valued}}}}, true},
		"exceptions":         {networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{Except: make([]string, mostPolicyParts)}}}}}}, true},
		"peers of egress":    {networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{To: peers}, {}}}, true},
		"ports of egress":    {networkingv1.NetworkPolicySpec{Egress: []networkingv1.NetworkPolicyEgressRule{{Ports: ports}, {}}}, true},
	} {
		test.spec.PodSelector = selector
		policy := &networkingv1.NetworkPolicy{Spec: test.spec}
		want := *policy.DeepCopy()
		if test.cut {
			want.Spec = networkingv1.NetworkPolicySpec{PodSelector: selector, PolicyTypes: []networkingv1.PolicyType{cut}}
		}
		for range 2 {
			trim(policy, false)
			if diff := cmp.Diff(want, *policy); diff != "" {
				t.Errorf("%s: (-want +got):\n%.300s", name, diff)
			}
		}
		if _, _, refusal := toRemote(policy, field.Target{}, nil, nil); (refusal != nil && refusal.Reason == field.ReasonPolicyTooLarge) != test.cut {
			t.Errorf("%s: refused: %v", name, refusal)
		}
	}
}
