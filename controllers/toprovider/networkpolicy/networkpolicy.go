// Package networkpolicy sends the NetworkPolicies of offloaded namespaces.
package networkpolicy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
)

// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=list;watch

// most is how many NetworkPolicies of one namespace are sent. Each new pod is held against
// all of them.
const most = 1000

// Kind is the kind of NetworkPolicies.
func Kind() kind.Kind[*networkingv1.NetworkPolicy] {
	policies := kind.NewCopy[networkingv1.NetworkPolicy, networkingv1.NetworkPolicyList]("networkpolicy", kind.InMappedNamespace, translation{})
	policies.Resource, policies.NamesNamespaces, policies.Precedes = v1alpha1.OffloadedNetworkPolicies, namesNamespaces, selects
	policies.Most, policies.Trim = most, trim
	return policies
}

// selects reports whether a policy is about a pod: without it, all could talk to the pod.
func selects(policy *networkingv1.NetworkPolicy, pod *corev1.Pod) bool {
	return selectedBy(policy, pod.Labels)
}

// namesNamespaces reports whether a policy selects by namespaces.
func namesNamespaces(policy *networkingv1.NetworkPolicy) bool {
	among := func(peers []networkingv1.NetworkPolicyPeer) bool {
		return slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool { return p.NamespaceSelector != nil })
	}
	return slices.ContainsFunc(policy.Spec.Ingress, func(r networkingv1.NetworkPolicyIngressRule) bool { return among(r.From) }) ||
		slices.ContainsFunc(policy.Spec.Egress, func(r networkingv1.NetworkPolicyEgressRule) bool { return among(r.To) })
}

type translation struct{ kind.Namespaced }

var (
	_ decide.Noticing[*networkingv1.NetworkPolicy] = translation{}
	_ decide.Keeping                               = translation{}
)

// Remote implements decide.Translation.
func (translation) Remote(local *networkingv1.NetworkPolicy, t field.Target, around decide.Inputs) (*networkingv1.NetworkPolicy, *field.Problem) {
	remote, _, refusal := toRemote(local, t, around.Limits, around.Peers)
	return remote, refusal
}

// Merge implements decide.Translation.
func (translation) Merge(desired, remote *networkingv1.NetworkPolicy) (*networkingv1.NetworkPolicy, bool) {
	return merge(desired, remote), false
}

// Keeps implements decide.Keeping: without the older copy, pods that run there would be open
// to all.
func (translation) Keeps(refusal *field.Problem) bool {
	return refusal.Reason == field.ReasonSelectorNotSent || refusal.Reason == field.ReasonPolicyTooLarge
}

// Notice implements decide.Noticing.
func (translation) Notice(_, remote *networkingv1.NetworkPolicy, _ decide.Inputs) *field.Problem {
	if said := field.LeftOut(remote); said != "" {
		return &field.Problem{Reason: field.ReasonPolicyNarrowed, Message: said}
	}
	return nil
}
