package translate

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// NetworkPolicy returns the remote NetworkPolicy of local in a provider with these limits, and what it
// left out. namespaces returns the PeerNamespaces. It is called only for policies that have a
// namespaceSelector.
//
// The remote policy never allows more than the local one. Everything that it allows to a remote pod,
// the local policy allows to the pod's local counterpart. To guarantee that, NetworkPolicy changes or
// leaves out what it cannot express:
//
//   - A namespaceSelector becomes the names of the matching namespaces in the provider, because
//     others set the labels of namespaces there. A selector that matches every namespace is no
//     exception: the provider has namespaces of other tenants.
//   - It leaves out a peer that matches none of these namespaces. It also leaves out a rule that
//     has no peers left, because a rule without peers would allow everybody.
//   - It leaves out a peer that selects pods by a label that pods are sent without.
//
// It refuses a policy that itself selects pods by such a label, because the policy would apply to other
// pods than in the consumer.
func NetworkPolicy(local *networkingv1.NetworkPolicy, t Target, limits *Limits, namespaces func() []PeerNamespace) (*networkingv1.NetworkPolicy, []Omission, *field.Problem) {
	if refusal := neverSynced("NetworkPolicy", local); refusal != nil {
		return nil, nil, refusal
	}
	if isCutPolicy(local) {
		return nil, nil, field.Refuse(ReasonPolicyTooLarge, "NetworkPolicy %s has more than %d rules, peers, ports and values of selectors: split it up", local.Name, mostPolicyParts)
	}
	if key := unsentLabel(&local.Spec.PodSelector, limits); key != "" {
		return nil, nil, field.Refuse(ReasonSelectorNotSent,
			"NetworkPolicy %s: spec.podSelector uses the label %s, which is not sent: it would select other pods in the provider", local.Name, key)
	}
	p := peerTranslation{limits: limits, namespaces: sync.OnceValue(namespaces)}
	spec := networkPolicySpecPlan.allowed(&local.Spec)
	spec.Ingress, spec.Egress = p.ingress(spec.Ingress), p.egress(spec.Egress)
	spec.PolicyTypes = policyTypes(&local.Spec)
	remote := &networkingv1.NetworkPolicy{ObjectMeta: Metadata(local, t), Spec: *spec.DeepCopy()}
	if said := Omitted(p.omitted); said != "" {
		remote.Annotations[v1alpha1.AnnotationLeftOut] = said
	}
	return remote, p.omitted, nil
}

// MergeNetworkPolicy returns remote with the spec of desired, which NetworkPolicy made. The annotation
// about what was left out is a part of the result, so a change of it counts even if the spec is the
// same.
func MergeNetworkPolicy(desired, remote *networkingv1.NetworkPolicy) *networkingv1.NetworkPolicy {
	merged := Merged(desired, remote)
	merged.Spec = desired.Spec
	return merged
}

// LeftOut says what a remote object lacks of the local one, or returns "" if it lacks nothing.
func LeftOut(remote metav1.Object) string {
	return remote.GetAnnotations()[v1alpha1.AnnotationLeftOut]
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
		rule := networkPolicyIngressRulePlan.allowed(&rules[i])
		if rule.From = p.peers(fmt.Sprintf("spec.ingress[%d]", i), "from", rules[i].From); len(rule.From) > 0 || len(rules[i].From) == 0 {
			kept = append(kept, rule)
		}
	}
	return kept
}

func (p *peerTranslation) egress(rules []networkingv1.NetworkPolicyEgressRule) []networkingv1.NetworkPolicyEgressRule {
	var kept []networkingv1.NetworkPolicyEgressRule
	for i := range rules {
		rule := networkPolicyEgressRulePlan.allowed(&rules[i])
		if rule.To = p.peers(fmt.Sprintf("spec.egress[%d]", i), "to", rules[i].To); len(rule.To) > 0 || len(rules[i].To) == 0 {
			kept = append(kept, rule)
		}
	}
	return kept
}

// Omission is a part of a local object that its remote object lacks.
type Omission struct {
	// Field is the path of the part, such as spec.ingress[0].from[1].
	Field string
	// Why tells people the cause.
	Why string
}

// omissionsShown is how many omissions a message names at most.
const omissionsShown = 3

// mostOmitted limits a message, in bytes. The message is in an annotation of the remote object, and in
// an event.
const mostOmitted = 1000

// Omitted returns a message that names what was left out of a policy, or "" if nothing was.
func Omitted(all []Omission) string {
	if len(all) == 0 {
		return ""
	}
	return omitted("left out, so the provider allows less than the consumer: ", all)
}

func omitted(text string, all []Omission) string {
	var shown []string
	for _, o := range all {
		shown = append(shown, o.Field+" ("+o.Why+")")
	}
	text += few(shown, omissionsShown)
	return strings.ToValidUTF8(text[:min(len(text), mostOmitted)], "")
}

// few joins the first items of a list, and says how many more there are.
func few(all []string, most int) string {
	text := strings.Join(all[:min(len(all), most)], ", ")
	if more := len(all) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// unsentLabel returns a label that a selector names, but that pods are sent without, or "". The remote
// pod lacks the label, or has the provider's value of it.
func unsentLabel(selector *metav1.LabelSelector, limits *Limits) string {
	if selector == nil {
		return ""
	}
	keys := slices.Collect(maps.Keys(selector.MatchLabels))
	for i := range selector.MatchExpressions {
		keys = append(keys, selector.MatchExpressions[i].Key)
	}
	return unsentKey(slices.Values(keys), limits)
}

// unsentKey returns the first key, in order, that remote pods do not have as a label, or "".
func unsentKey(keys iter.Seq[string], limits *Limits) string {
	for _, key := range slices.Sorted(keys) {
		if !isSentLabel(key, limits) {
			return key
		}
	}
	return ""
}

// SelectedBy reports whether a NetworkPolicy in the pod's namespace selects a pod with these labels. A
// policy with an invalid selector, which only an older API server accepts, selects every pod.
func SelectedBy(local *networkingv1.NetworkPolicy, podLabels map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(&local.Spec.PodSelector)
	return err != nil || selector.Matches(labels.Set(podLabels))
}
