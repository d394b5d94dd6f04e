package networkpolicy

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// mostPolicyNames limits the namespace names in a remote policy. They take up to 330 KiB of the 1.5 MiB
// that an object may have.
const mostPolicyNames = 5000

// mostPolicySelectors limits the namespaceSelectors of a policy that are evaluated. Each change of a
// namespace in the provider compares each selector with every such namespace.
const mostPolicySelectors = 200

// Reasons why a peer is left out.
const (
	noNamespace = "no namespace that it selects is in the provider"
	noPeer      = "none of its peers is in the provider"
	unknownPeer = "it selects neither pods nor addresses"
)

// peerTranslation translates the peers of one policy.
type peerTranslation struct {
	limits     *field.Limits
	namespaces func() []decide.PeerNamespace
	selectors  int // How many namespaceSelectors were translated so far.
	names      int // How many names of namespaces these became.
	omitted    []field.Omission
}

// peers returns the remote form of the peers of the rule at a path, without those that cannot be
// expressed in the provider. If it removes all peers, the caller must remove the rule.
func (p *peerTranslation) peers(path, list string, all []networkingv1.NetworkPolicyPeer) []networkingv1.NetworkPolicyPeer {
	var kept []networkingv1.NetworkPolicyPeer
	for i := range all {
		remote, why := p.peer(&all[i])
		if why != "" {
			p.omitted = append(p.omitted, field.Omission{Field: fmt.Sprintf("%s.%s[%d]", path, list, i), Why: why})
		}
		kept = append(kept, remote...)
	}
	if len(all) > 0 && len(kept) == 0 {
		p.omitted = append(p.omitted, field.Omission{Field: path, Why: noPeer})
	}
	return kept
}

// peer returns the remote peers for a peer. why says what was left out of it, and why, or is "".
func (p *peerTranslation) peer(local *networkingv1.NetworkPolicyPeer) (remote []networkingv1.NetworkPolicyPeer, why string) {
	peer := networkPolicyPeerPlan.Allowed(local)
	switch {
	case local.IPBlock != nil:
		return []networkingv1.NetworkPolicyPeer{peer}, ""
	case local.NamespaceSelector != nil:
		return p.byNamespace(peer)
	case local.PodSelector == nil: // A peer of a newer API, which this version does not know.
		return nil, unknownPeer
	}
	if key := field.UnsentLabel(local.PodSelector, p.limits); key != "" {
		return nil, unsent(key)
	}
	peer.PodSelector = field.PodSelector(peer.PodSelector)
	return []networkingv1.NetworkPolicyPeer{peer}, ""
}

// byNamespace replaces a peer's namespaceSelector by the names of the selected namespaces. In a shared
// namespace, the pods are the provider's own, with all their labels and no aliases, so such namespaces may need a
// peer of their own.
func (p *peerTranslation) byNamespace(peer networkingv1.NetworkPolicyPeer) (remote []networkingv1.NetworkPolicyPeer, why string) {
	if p.selectors++; p.selectors > mostPolicySelectors {
		return nil, fmt.Sprintf("the policy has more than %d namespaceSelectors", mostPolicySelectors)
	}
	selector, err := metav1.LabelSelectorAsSelector(peer.NamespaceSelector)
	if err != nil {
		return nil, fmt.Sprintf("its namespaceSelector is invalid: %v", err)
	}
	missing := field.UnsentLabel(peer.PodSelector, p.limits)
	pods := field.PodSelector(peer.PodSelector)
	together := equality.Semantic.DeepEqual(pods, peer.PodSelector)
	var names, shared []string
	why = noNamespace
	for _, namespace := range p.namespaces() {
		switch {
		case !selector.Matches(labels.Set(namespace.Labels)):
		case missing != "" && !namespace.Shared:
			why = unsent(missing)
		case namespace.Shared && !together:
			shared = append(shared, namespace.Remote)
		default:
			names = append(names, namespace.Remote)
		}
	}
	count := len(names) + len(shared)
	switch {
	case count == 0:
		return nil, why
	case p.names+count > mostPolicyNames:
		return nil, fmt.Sprintf("the policy would name more than %d namespaces of the provider", mostPolicyNames)
	case why == noNamespace:
		why = ""
	}
	p.names += count
	return slices.Concat(named(pods, names), named(peer.PodSelector, shared)), why
}

// named returns a peer for these pods of the namespaces with these names. It returns none if there are no names.
func named(pods *metav1.LabelSelector, names []string) []networkingv1.NetworkPolicyPeer {
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return []networkingv1.NetworkPolicyPeer{{PodSelector: pods, NamespaceSelector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpIn, Values: slices.Compact(names)},
		},
	}}}
}

func unsent(key string) string {
	return "its podSelector uses the label " + key + ", which is not sent"
}
