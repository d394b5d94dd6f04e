package unscheduledpod

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/field"
)

// Claim is what is known about a PersistentVolumeClaim that a pod names.
type Claim struct {
	Name string
	// Refusal is why the claim cannot be sent in its present state, or nil.
	Refusal *field.Problem
	// SelectedNode is the virtual node on which the claim waits for a volume, because the scheduler has
	// chosen that node for a pod; empty if there is none.
	SelectedNode string
	// Providers are the clusterIDs of the providers that can create the volume of a claim that has none.
	Providers []string
}

// creating returns those of the providers that can create the volumes of all claims that have none, and the claims
// without what no provider can do. If a claim is refused, all providers are returned.
func creating(clusterIDs []string, claims []Claim) ([]string, []Claim) {
	able := clusterIDs
	for _, claim := range claims {
		if len(claim.Providers) > 0 {
			able = slices.DeleteFunc(slices.Clone(able), func(id string) bool { return !slices.Contains(claim.Providers, id) })
		}
	}
	if len(able) > 0 && refused(claims) == nil {
		return able, claims
	}
	claims = slices.Clone(claims)
	for i := range claims {
		claims[i].Providers = nil
	}
	return clusterIDs, claims
}

// ReasonClaimReleased: the scheduler may choose a node again for a claim of the pod.
const ReasonClaimReleased = "ClaimReleased"

// Released reports whether the scheduler should choose a node again for a claim. It should if pods wait for
// the claim, and none of them can go to the virtual node that was chosen for an earlier pod. If one can go
// there, the scheduler may choose that node again. pods are all pods of the namespace that wait for a node.
func Released(claim Claim, pods []corev1.Pod) bool {
	if claim.SelectedNode == "" {
		return false
	}
	clusterID := v1alpha1.ClusterIDOf(claim.SelectedNode)
	waits := false
	for i := range pods {
		if !pods[i].DeletionTimestamp.IsZero() || !slices.Contains(needs.Claims(&pods[i]), claim.Name) {
			continue
		}
		if admission.Tolerates(&pods[i], clusterID) {
			return false
		}
		waits = true
	}
	return waits
}

// patience is how long a pod may wait for a volume on a virtual node before its owner is told. A driver that
// ignores nodes creates a volume faster.
const patience = 30 * time.Second

// refused returns why a pod with these claims cannot run in a provider, or nil.
func refused(claims []Claim) *field.Problem {
	for _, claim := range claims {
		if claim.Refusal != nil && len(claim.Providers) == 0 {
			return claim.Refusal
		}
	}
	return nil
}

// waitsForClaims reports whether admission has left a pod's toleration to this package, because the pod names
// claims.
func waitsForClaims(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) bool {
	return nso.Spec.PodOffloadingStrategy != v1alpha1.PodsRemote && len(needs.Claims(pod)) > 0 && !pod.CreationTimestamp.Before(&nso.CreationTimestamp)
}

// keepsTo reports whether admission has left a pod's toleration to this package, and the pod's affinity
// limits it to nodes that allow the volumes that it describes.
func keepsTo(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) bool {
	left := waitsForClaims(pod, nso) || len(nso.Spec.Overflow) > 0 && !pod.CreationTimestamp.Before(&nso.CreationTimestamp)
	if !left || pod.Spec.Affinity == nil || pod.Spec.Affinity.NodeAffinity == nil || pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	allowed := admission.Allowed(nso, accept.DescribedVolumes(pod), false)
	return !slices.ContainsFunc(pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool {
		return len(t.MatchExpressions)+len(t.MatchFields) > 0 &&
			!slices.ContainsFunc(allowed, func(a corev1.NodeSelectorTerm) bool { return admission.Within(t, a) })
	})
}

// stuck tells the owner of a pod that tolerates virtual nodes that the scheduler waits for a volume on one of
// them. The scheduler waits for up to ten minutes at a time, without a message.
func stuck(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading, claims []Claim, now time.Time) Plan {
	i := slices.IndexFunc(claims, func(c Claim) bool {
		return c.Refusal != nil && c.SelectedNode != "" && !slices.Contains(c.Providers, v1alpha1.ClusterIDOf(c.SelectedNode))
	})
	if i < 0 {
		return Plan{}
	}
	if left := pod.CreationTimestamp.Add(patience).Sub(now); left > 0 {
		return Plan{RecheckAfter: left}
	}
	cure := "delete the pod, and its replacement starts on one of the consumer's own nodes"
	if nso.Spec.PodOffloadingStrategy == v1alpha1.PodsRemote {
		cure = "with podOffloadingStrategy Remote, a claim must be bound to a volume first; with LocalAndRemote or LocalFirst, new pods start on the consumer's own nodes"
	}
	return Plan{Reason: field.ReasonClaimNotBound, Warns: true, Message: fmt.Sprintf(
		"PersistentVolumeClaim %s has no volume, and the scheduler waits for one on virtual node %s, where CSI drivers can rarely provision one: %s",
		claims[i].Name, claims[i].SelectedNode, cure)}
}
