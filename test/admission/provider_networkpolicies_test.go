package admission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const onlyByName = "each namespaceSelector must be one matchExpressions of kubernetes.io/metadata.name"

// policyOf is a NetworkPolicy that allows traffic from peers, and to peers if to is not nil.
func policyOf(meta metav1.ObjectMeta, to []networkingv1.NetworkPolicyPeer, from ...networkingv1.NetworkPolicyPeer) *networkingv1.NetworkPolicy {
	policy := &networkingv1.NetworkPolicy{ObjectMeta: meta, Spec: networkingv1.NetworkPolicySpec{
		PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
	}}
	if from != nil {
		policy.Spec.Ingress = []networkingv1.NetworkPolicyIngressRule{{From: from}}
	}
	if to != nil {
		policy.Spec.Egress = []networkingv1.NetworkPolicyEgressRule{{To: to}}
	}
	return policy
}

// inNamespacesOf is a peer that selects namespaces by expressions.
func inNamespacesOf(expressions ...metav1.LabelSelectorRequirement) networkingv1.NetworkPolicyPeer {
	return networkingv1.NetworkPolicyPeer{NamespaceSelector: &metav1.LabelSelector{MatchExpressions: expressions}}
}

func nameIs(operator metav1.LabelSelectorOperator, names ...string) metav1.LabelSelectorRequirement {
	return metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: operator, Values: names}
}

// TestConsumerNetworkPolicies tests the peers that a policy may name, for ingress and egress.
func TestConsumerNetworkPolicies(t *testing.T) {
	consumer := inProvider(t)
	meta := metav1.ObjectMeta{Namespace: namespaceOf(t, held(mark())), Name: "web", Labels: mark()}
	pods := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	byName := inNamespacesOf(nameIs(metav1.LabelSelectorOpIn, "team-a", "kube-system"))
	byNameToo := inNamespacesOf(nameIs(metav1.LabelSelectorOpIn, "team-a"), nameIs(metav1.LabelSelectorOpNotIn, "team-b"))
	labelled := networkingv1.NetworkPolicyPeer{NamespaceSelector: byName.NamespaceSelector.DeepCopy()}
	labelled.NamespaceSelector.MatchLabels = map[string]string{"team": "a"}
	for name, test := range map[string]struct {
		peers []networkingv1.NetworkPolicyPeer
		want  string // Part of the refusal; empty: allowed.
	}{
		"nobody":                       {nil, ""},
		"everybody":                    {[]networkingv1.NetworkPolicyPeer{}, ""},
		"addresses":                    {[]networkingv1.NetworkPolicyPeer{{IPBlock: &networkingv1.IPBlock{CIDR: "192.0.2.0/24"}}}, ""},
		"pods of its namespace":        {[]networkingv1.NetworkPolicyPeer{{PodSelector: pods}}, ""},
		"namespaces by name":           {[]networkingv1.NetworkPolicyPeer{byName}, ""},
		"pods of namespaces by name":   {[]networkingv1.NetworkPolicyPeer{{PodSelector: pods, NamespaceSelector: byName.NamespaceSelector}}, ""},
		"all namespaces":               {[]networkingv1.NetworkPolicyPeer{byName, inNamespacesOf()}, onlyByName},
		"namespaces by a label":        {[]networkingv1.NetworkPolicyPeer{{NamespaceSelector: pods}}, onlyByName},
		"by name and label":            {[]networkingv1.NetworkPolicyPeer{labelled}, onlyByName},
		"by two expressions":           {[]networkingv1.NetworkPolicyPeer{byNameToo}, onlyByName},
		"all but one by name":          {[]networkingv1.NetworkPolicyPeer{inNamespacesOf(nameIs(metav1.LabelSelectorOpNotIn, "team-a"))}, onlyByName},
		"whatever has a name":          {[]networkingv1.NetworkPolicyPeer{inNamespacesOf(nameIs(metav1.LabelSelectorOpExists))}, onlyByName},
		"namespaces by another's name": {[]networkingv1.NetworkPolicyPeer{inNamespacesOf(metav1.LabelSelectorRequirement{Key: "name", Operator: metav1.LabelSelectorOpIn, Values: []string{"a"}})}, onlyByName},
	} {
		t.Run("from "+name, func(t *testing.T) {
			refused(t, consumer.Create(t.Context(), policyOf(meta, nil, test.peers...), client.DryRunAll), test.want)
		})
		t.Run("to "+name, func(t *testing.T) {
			refused(t, consumer.Create(t.Context(), policyOf(meta, test.peers), client.DryRunAll), test.want)
		})
	}
	t.Run("of somebody else", func(t *testing.T) {
		foreign := policyOf(metav1.ObjectMeta{Namespace: namespaceOf(t, nil), Name: "web"}, nil, inNamespacesOf())
		refused(t, server(t).Create(t.Context(), foreign, client.DryRunAll), "")
	})
}

// TestConsumerChangesNetworkPolicies: a change cannot allow more. A policy that the administrator has widened
// can be narrowed.
func TestConsumerChangesNetworkPolicies(t *testing.T) {
	consumer := inProvider(t)
	namespace := namespaceOf(t, held(mark()))
	byName, all := inNamespacesOf(nameIs(metav1.LabelSelectorOpIn, "team-a")), inNamespacesOf()
	const names = `{"matchExpressions":[{"key":"kubernetes.io/metadata.name","operator":"In","values":["team-a","team-b"]}]}`
	for name, test := range map[string]struct {
		from        networkingv1.NetworkPolicyPeer
		patch, want string
	}{
		"another namespace":  {byName, `{"spec":{"ingress":[{"from":[{"namespaceSelector":` + names + `}]}]}}`, ""},
		"all namespaces":     {byName, `{"spec":{"ingress":[{"from":[{"namespaceSelector":{}}]}]}}`, onlyByName},
		"to all namespaces":  {byName, `{"spec":{"egress":[{"to":[{"namespaceSelector":{}}]}]}}`, onlyByName},
		"the second rule":    {byName, `{"spec":{"ingress":[{"from":[{"podSelector":{}}]},{"from":[{"namespaceSelector":{}}]}]}}`, onlyByName},
		"one that was wide":  {all, `{"metadata":{"annotations":{"a":"b"}}}`, onlyByName},
		"to make it narrow":  {all, `{"spec":{"ingress":[{"from":[{"namespaceSelector":` + names + `}]}]}}`, ""},
		"to close it wholly": {all, `{"spec":{"ingress":null}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			there := made(t, policyOf(metav1.ObjectMeta{Namespace: namespace, GenerateName: "web-", Labels: mark()}, nil, test.from))
			refused(t, consumer.Patch(t.Context(), there, merge(test.patch)), test.want)
			refused(t, consumer.Delete(t.Context(), there), "")
		})
	}
}
