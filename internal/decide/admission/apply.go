package admission

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Empty reports whether the pod stays unchanged.
func (p Plan) Empty() bool {
	return len(p.Tolerations()) == 0 && p.Required == nil && p.Preferred == nil && len(p.ByHost) == 0
}

// Tolerations returns the tolerations that the pod gets.
func (p Plan) Tolerations() []corev1.Toleration {
	if p.Toleration != nil {
		return []corev1.Toleration{*p.Toleration}
	}
	return p.First
}

// Apply adds the plan to the pod.
func (p Plan) Apply(pod *corev1.Pod) {
	pod.Spec.Tolerations = append(pod.Spec.Tolerations, p.Tolerations()...)
	preferred := p.Apart(pod)
	for _, i := range p.ByHost {
		pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i].TopologyKey = v1alpha1.TopologyHost
	}
	if len(preferred) > 0 {
		apart := pod.Spec.Affinity.PodAntiAffinity
		apart.PreferredDuringSchedulingIgnoredDuringExecution = append(apart.PreferredDuringSchedulingIgnoredDuringExecution, preferred...)
	}
	if p.Required == nil && p.Preferred == nil {
		return
	}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	if pod.Spec.Affinity.NodeAffinity == nil {
		pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	affinity := pod.Spec.Affinity.NodeAffinity
	if p.Required != nil {
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: p.Required}
	}
	if p.Preferred != nil {
		affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution, *p.Preferred)
	}
}

// mostApart is the most preferences that a pod gets for its anti-affinity over hosts. They must not double a large pod.
const mostApart = 20

// Apart returns the preferences that a pod gets for its anti-affinity over hosts, so that its siblings fill the other
// virtual nodes first. It must be called before Apply changes the terms.
func (p Plan) Apart(pod *corev1.Pod) []corev1.WeightedPodAffinityTerm {
	if len(p.ByHost) > mostApart {
		return nil
	}
	var all []corev1.WeightedPodAffinityTerm
	for _, i := range p.ByHost {
		term := pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution[i]
		all = append(all, corev1.WeightedPodAffinityTerm{Weight: mostWeight, PodAffinityTerm: term})
	}
	return all
}

// mostWeight is the weight of what counts most among preferences.
const mostWeight = 100
