package pod

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// These limit what a pod costs the manager, and the size of the remote pod: mostTerms the terms that name
// namespaces of a pod, and mostNames the names that these become.
const (
	mostTerms = 20
	mostNames = 1000
)

func (p *placement) podAffinity(local *corev1.PodAffinity) *corev1.PodAffinity {
	if local == nil {
		return nil
	}
	remote := &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution:  p.required("spec.affinity.podAffinity", local.RequiredDuringSchedulingIgnoredDuringExecution, false),
		PreferredDuringSchedulingIgnoredDuringExecution: p.preferred(local.RequiredDuringSchedulingIgnoredDuringExecution, local.PreferredDuringSchedulingIgnoredDuringExecution),
	}
	if remote.RequiredDuringSchedulingIgnoredDuringExecution == nil && remote.PreferredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return remote
}

func (p *placement) podAntiAffinity(local *corev1.PodAntiAffinity) *corev1.PodAntiAffinity {
	if local == nil {
		return nil
	}
	remote := &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution:  p.required("spec.affinity.podAntiAffinity", local.RequiredDuringSchedulingIgnoredDuringExecution, true),
		PreferredDuringSchedulingIgnoredDuringExecution: p.preferred(local.RequiredDuringSchedulingIgnoredDuringExecution, local.PreferredDuringSchedulingIgnoredDuringExecution),
	}
	if remote.RequiredDuringSchedulingIgnoredDuringExecution == nil && remote.PreferredDuringSchedulingIgnoredDuringExecution == nil {
		return nil
	}
	return remote
}

// required returns the remote form of required terms, and names those that have none. Anti-affinity to pods of
// namespaces that are not in the provider holds there anyway. Affinity needs a pod to be near to, which the pod may
// be itself: one that waits for a pod that runs elsewhere would wait for ever.
func (p *placement) required(path string, all []corev1.PodAffinityTerm, anti bool) []corev1.PodAffinityTerm {
	if softened(p.local) {
		return nil // See preferred.
	}
	var sent []corev1.PodAffinityTerm
	for i := range all {
		switch remote, why := p.term(&all[i], !anti); {
		case remote != nil:
			sent = append(sent, *remote)
		case why != "" && (!anti || why != noNamespace):
			p.omit(fmt.Sprintf("%s.requiredDuringSchedulingIgnoredDuringExecution[%d]", path, i), why)
		}
	}
	return sent
}

// preferred returns the remote form of preferences, and of required terms that the pod's owner has made such.
func (p *placement) preferred(required []corev1.PodAffinityTerm, all []corev1.WeightedPodAffinityTerm) []corev1.WeightedPodAffinityTerm {
	if softened(p.local) {
		const most = 100
		all = slices.Clone(all)
		for i := range required {
			all = append(all, corev1.WeightedPodAffinityTerm{Weight: most, PodAffinityTerm: required[i]})
		}
	}
	var sent []corev1.WeightedPodAffinityTerm
	for i := range all {
		if remote, _ := p.term(&all[i].PodAffinityTerm, false); remote != nil {
			sent = append(sent, corev1.WeightedPodAffinityTerm{Weight: all[i].Weight, PodAffinityTerm: *remote})
		}
	}
	return sent
}

// term returns the remote form of a term, or why there is none. A term without a selector selects no pod. If near is
// set, there is none unless a pod that it selects is on the virtual node.
func (p *placement) term(local *corev1.PodAffinityTerm, near bool) (*corev1.PodAffinityTerm, string) {
	key, why := p.topologyKey(local.TopologyKey, near)
	switch {
	case key == "" || local.LabelSelector == nil:
		return nil, why
	case p.target.Hashed:
		return nil, sharesNamespace
	}
	selector, why := fullSelector(p.local, p.in.Limits, local.LabelSelector, local.MatchLabelKeys, local.MismatchLabelKeys)
	if selector == nil {
		return nil, why
	}
	names, here, why := p.namespaces(local)
	if why == "" && near && !p.isThere(selector, here, key) {
		why = noPod
	}
	if why != "" {
		return nil, why
	}
	remote := accept.PodAffinityTermPlan.Allowed(local)
	remote.TopologyKey, remote.LabelSelector, remote.Namespaces = key, ofConsumer(field.PodSelector(selector), p.target.Mark), names
	return &remote, ""
}

// isThere reports whether a pod in the provider is in one of these local namespaces, has the labels, and may share the
// node or zone with this one, or that is unknown. The pod may be near to itself.
func (p *placement) isThere(of *metav1.LabelSelector, namespaces []string, key string) bool {
	selector, err := metav1.LabelSelectorAsSelector(of)
	if err != nil || p.in.Here == nil {
		return true
	}
	return slices.ContainsFunc(namespaces, func(namespace string) bool {
		there, known := p.podsIn(namespace)
		return !known || slices.ContainsFunc(there, func(pod *corev1.Pod) bool {
			return selector.Matches(labels.Set(pod.Labels)) && !apart(p.in.Groups[p.local.Spec.NodeName], p.in.Groups[pod.Spec.NodeName], key)
		})
	})
}

// apart reports whether the pods of two virtual nodes cannot be in the same domain: their groups have other values for the
// topology key. Nodes of two groups are never the same host. Pods of a node without a group may be anywhere.
func apart(mine, theirs field.Group, key string) bool {
	for label, own := range mine {
		other, grouped := theirs[label]
		if grouped && (key == label || key == corev1.LabelHostname) && !ptr.Equal(own, other) {
			return true
		}
	}
	return false
}

// podsIn returns the pods of a local namespace that are in the provider, or soon will be.
func (p *placement) podsIn(namespace string) (there []*corev1.Pod, known bool) {
	if there, asked := p.near[namespace]; asked {
		return there, true
	}
	pods, known := p.in.Here(namespace)
	for i := range pods {
		if pods[i].UID == p.local.UID || comes(&pods[i], p.in) {
			there = append(there, &pods[i])
		}
	}
	if p.near == nil {
		p.near = map[string][]*corev1.Pod{}
	}
	if known {
		p.near[namespace] = there
	}
	return there, known
}

// comes reports whether a pod on the virtual node is in the provider, or is only waiting for something before it is
// sent.
func comes(pod *corev1.Pod, in decide.Inputs) bool {
	switch c := conditionOf(pod, v1alpha1.PodOffloaded); {
	case terminal(pod), !pod.DeletionTimestamp.IsZero():
		return false
	case Sent(pod):
		return true
	case c != nil && c.Status == corev1.ConditionFalse && c.Reason == v1alpha1.ReasonRejected:
		return false
	}
	accepted, known := accepts(pod, in)
	return accepted || !known
}

// ofConsumer restricts a selector to the pods of this consumer. Kubernetes keeps pods that a required
// anti-affinity selects off the node, even if they come later and know nothing of it. So nobody else's pod may
// be selected, in whatever namespace. The provider's policy requires this label.
func ofConsumer(selector *metav1.LabelSelector, mark provenance.Mark) *metav1.LabelSelector {
	if selector.MatchLabels == nil {
		selector.MatchLabels = map[string]string{}
	}
	if mark.Account != "" {
		selector.MatchLabels[v1alpha1.LabelAccount] = mark.Account
	} else {
		selector.MatchLabels[v1alpha1.LabelOrigin] = mark.Origin
	}
	return selector
}

// namespaces returns the names of the remote namespaces that a term is about, and of the local ones, or why there
// are none. It returns no remote names for a term that is about the pod's own namespace alone.
func (p *placement) namespaces(term *corev1.PodAffinityTerm) (names, here []string, why string) {
	if len(term.Namespaces) == 0 && term.NamespaceSelector == nil {
		return nil, []string{p.local.Namespace}, ""
	}
	if p.terms++; p.terms > mostTerms {
		return nil, nil, fmt.Sprintf("the pod has more than %d terms with namespaces or namespaceSelector", mostTerms)
	}
	selects := labels.Nothing()
	if term.NamespaceSelector != nil {
		var err error
		if selects, err = metav1.LabelSelectorAsSelector(term.NamespaceSelector); err != nil {
			return nil, nil, fmt.Sprintf("its namespaceSelector is invalid: %v", err)
		}
	}
	named := sets.New(term.Namespaces...)
	for _, namespace := range p.in.Peers() {
		// In a shared namespace, the pods are the provider's own.
		name := namespace.Labels[corev1.LabelMetadataName]
		if !namespace.Shared && (named.Has(name) || selects.Matches(labels.Set(namespace.Labels))) {
			names, here = append(names, namespace.Remote), append(here, name)
		}
	}
	switch p.names += len(names); {
	case len(names) == 0:
		return nil, nil, noNamespace
	case p.names > mostNames:
		return nil, nil, fmt.Sprintf("the pod would name more than %d namespaces of the provider", mostNames)
	case len(names) == 1 && names[0] == p.target.Namespace:
		return nil, here, ""
	}
	slices.Sort(names)
	return slices.Compact(names), here, ""
}
