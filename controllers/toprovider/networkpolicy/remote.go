package networkpolicy

import (
	"fmt"
	"sync"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// toRemote returns the remote NetworkPolicy of local in a provider with these limits, and what it
// left out. namespaces returns the PeerNamespaces. It is called only for policies that have a
// namespaceSelector.
//
// The remote policy never allows more than the local one. Everything that it allows to a remote pod,
// the local policy allows to the pod's local counterpart. To guarantee that, toRemote changes or
// leaves out what it cannot express:
//
//   - A namespaceSelector becomes the names of the matching namespaces in the provider, because
//     others set the labels of namespaces there. A selector that matches every namespace is no
//     exception: the provider has namespaces of other tenants.
//   - It leaves out a peer that matches none of these namespaces. It also leaves out a rule that
//     has no peers left, because a rule without peers would allow everybody.
//   - A podSelector names the aliases of labels. It leaves out a peer that selects pods by a label that pods
//     are sent without.
//
// It refuses a policy that itself selects pods by such a label, because the policy would apply to other
// pods than in the consumer.
func toRemote(local *networkingv1.NetworkPolicy, t field.Target, limits *field.Limits, namespaces func() []decide.PeerNamespace) (*networkingv1.NetworkPolicy, []field.Omission, *field.Problem) {
	if refusal := field.NeverSynced("NetworkPolicy", local); refusal != nil {
		return nil, nil, refusal
	}
	if isCutPolicy(local) {
		return nil, nil, field.Refuse(field.ReasonPolicyTooLarge, "NetworkPolicy %s has more than %d rules, peers, ports and values of selectors: split it up", local.Name, mostPolicyParts)
	}
	if key := field.UnsentLabel(&local.Spec.PodSelector, limits); key != "" {
		return nil, nil, field.Refuse(field.ReasonSelectorNotSent,
			"NetworkPolicy %s: spec.podSelector uses the label %s, which is not sent: it would select other pods in the provider", local.Name, key)
	}
	p := peerTranslation{limits: limits, namespaces: sync.OnceValue(namespaces)}
	spec := networkPolicySpecPlan.Allowed(&local.Spec)
	spec.Ingress, spec.Egress = p.ingress(spec.Ingress), p.egress(spec.Egress)
	spec.PodSelector, spec.PolicyTypes = *field.PodSelector(&local.Spec.PodSelector), policyTypes(&local.Spec)
	remote := &networkingv1.NetworkPolicy{ObjectMeta: field.Metadata(local, t), Spec: *spec.DeepCopy()}
	if said := field.Omitted(p.omitted); said != "" {
		remote.Annotations[v1alpha1.AnnotationLeftOut] = said
	}
	return remote, p.omitted, nil
}

// merge returns remote with the spec of desired, which toRemote made. The annotation
// about what was left out is a part of the result, so a change of it counts even if the spec is the
// same.
func merge(desired, remote *networkingv1.NetworkPolicy) *networkingv1.NetworkPolicy {
	merged := field.Merged(desired, remote)
	merged.Spec = desired.Spec
	return merged
}

// policyTypes returns the types of a policy, with the API server's defaults.
func policyTypes(spec *networkingv1.NetworkPolicySpec) []networkingv1.PolicyType {
	switch {
	case len(spec.PolicyTypes) > 0:
		return spec.PolicyTypes
	case len(spec.Egress) > 0:
		return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	default:
		return []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	}
}

// ingress returns the rules that still have peers, or never had any.
func (p *peerTranslation) ingress(rules []networkingv1.NetworkPolicyIngressRule) []networkingv1.NetworkPolicyIngressRule {
	var kept []networkingv1.NetworkPolicyIngressRule
	for i := range rules {
		rule := networkPolicyIngressRulePlan.Allowed(&rules[i])
		if rule.From = p.peers(fmt.Sprintf("spec.ingress[%d]", i), "from", rules[i].From); len(rule.From) > 0 || len(rules[i].From) == 0 {
			kept = append(kept, rule)
		}
	}
	return kept
}

func (p *peerTranslation) egress(rules []networkingv1.NetworkPolicyEgressRule) []networkingv1.NetworkPolicyEgressRule {
	var kept []networkingv1.NetworkPolicyEgressRule
	for i := range rules {
		rule := networkPolicyEgressRulePlan.Allowed(&rules[i])
		if rule.To = p.peers(fmt.Sprintf("spec.egress[%d]", i), "to", rules[i].To); len(rule.To) > 0 || len(rules[i].To) == 0 {
			kept = append(kept, rule)
		}
	}
	return kept
}

// selectedBy reports whether a NetworkPolicy in the pod's namespace, or a remote one, selects a local pod with
// these labels. A policy with an invalid selector, which only an older API server accepts, selects every pod.
func selectedBy(local *networkingv1.NetworkPolicy, podLabels map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(&local.Spec.PodSelector)
	return err != nil || selector.Matches(labels.Set(podLabels)) || selector.Matches(field.EitherLabels(podLabels))
}
