// Package unscheduledpod decides, without any I/O, what can still be done for a pod that waits for a node and
// lacks tolerations.
//
// Either the pod names PersistentVolumeClaims, and the admission policy has left the toleration to this
// package until all of them are bound (claims.go). Or the policy has not changed the pod. Then the pod is
// older than the offloading of its namespace, was created while the API server was starting, or has too large
// an affinity.
//
// Kubernetes allows new tolerations on an existing pod, but no changed affinity. So the pod gets a toleration
// for each selected virtual node, by name, because nothing else would keep it off the others. A pod that can
// never be sent gets none, as from the policy. Nor does a pod that some providers do not accept.
package unscheduledpod

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/field"
)

// Plan is what to add to the pod, and what to tell its owner.
type Plan struct {
	Tolerations []corev1.Toleration
	// Opened is the value of the annotation spillway.io/overflow to write with the tolerations; empty: it stays.
	Opened string
	// Reason and Message are for an event, and empty if there is nothing to report.
	Reason, Message string
	// Warns reports that the event is a warning.
	Warns bool
	// RecheckAfter is how long until the next decision if nothing changes before; 0: never.
	RecheckAfter time.Duration
}

// Reasons of events.
const (
	// ReasonOffloadedLate: the pod got tolerations after its creation.
	ReasonOffloadedLate = "OffloadedLate"
	// ReasonStaysLocal: the pod waits for a local node. Either it can never be sent, its claims are not
	// bound, or no provider with room for it allows a volume that it describes.
	ReasonStaysLocal = "StaysLocal"
)

// Decide decides about a pod that is not bound to a node yet. nso is the NamespaceOffloading of its
// namespace, or nil. clusterIDs name the selected providers, sorted. claims are the pod's claims.
func Decide(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading, clusterIDs []string, claims []Claim, now time.Time) Plan {
	if len(clusterIDs) == 0 || nso == nil || !nso.DeletionTimestamp.IsZero() || nso.Spec.PodOffloadingStrategy == v1alpha1.PodsLocal ||
		pod.Spec.NodeName != "" || !pod.DeletionTimestamp.IsZero() || isDaemonSetPod(pod) {
		return Plan{}
	}
	clusterIDs, claims = creating(clusterIDs, claims)
	plan := Plan{Tolerations: admission.Missing(pod, clusterIDs)}
	late := len(plan.Tolerations) > 0
	if why := whyLocal(pod, nso, claims, late); why != "" {
		return staysLocal(pod, why)
	}
	switch {
	case !late:
		return stuck(pod, nso, claims, now)
	case waitsForClaims(pod, nso):
		return plan
	}
	plan.Reason, plan.Message = ReasonOffloadedLate, message(pod, nso, clusterIDs)
	return plan
}

// whyLocal returns why a pod may have to stay on local nodes, or "". late reports that the pod lacks what the
// admission policy adds.
func whyLocal(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading, claims []Claim, late bool) string {
	refusal, described := accept.BaselineRefusal(pod), strings.Join(accept.DescribedVolumes(pod), ", ")
	switch {
	case late && refusal != nil && refusal.Reason == field.ReasonPodSecurity:
		return "the pod exceeds pod security baseline, so only a provider that allows this can run it, and only if it is created with podOffloadingStrategy Remote; " +
			"it waits for one of the consumer's own nodes: " + refusal.Message
	case late && refusal != nil:
		return "no provider can run the pod, so it waits for one of the consumer's own nodes: " + refusal.Message
	case late && described != "" && !keepsTo(pod, nso):
		return "the pod has inline volumes, which a provider must allow (label " + described + " of its virtual node), but its affinity is immutable: " +
			"it waits for one of the consumer's own nodes; delete it so that its controller recreates it"
	case late && refused(claims) != nil:
		return "the pod waits for one of the consumer's own nodes; providers can run it once all its claims are bound to volumes that can be sent: " + refused(claims).Message
	case !late && refusal == nil && described != "" && nso.Spec.PodOffloadingStrategy != v1alpha1.PodsRemote:
		return "the pod has inline volumes, which a provider must allow: it waits for a virtual node with the label " + described + ", or for one of the consumer's own nodes"
	}
	return ""
}

// staysLocal tells the owner of a pod why no provider gets it, once the scheduler has found no node for it.
// Before that there is nothing to tell.
func staysLocal(pod *corev1.Pod, why string) Plan {
	waits := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
	if !waits {
		return Plan{}
	}
	return Plan{Reason: ReasonStaysLocal, Message: why}
}

// isDaemonSetPod reports whether the pod belongs to one node, which its DaemonSet has chosen.
func isDaemonSetPod(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "DaemonSet"
}

func message(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading, clusterIDs []string) string {
	why := v1alpha1.PodAdmissionName + " did not change the pod at admission"
	if pod.CreationTimestamp.Before(&nso.CreationTimestamp) {
		why = "the pod is older than its NamespaceOffloading"
	}
	text := fmt.Sprintf("%s: it may run on the virtual nodes of %s from now on", why, strings.Join(clusterIDs, ", "))
	switch nso.Spec.PodOffloadingStrategy {
	case v1alpha1.PodsRemote:
		return text + ", but its affinity is immutable, so it may also run on a local node; delete it, and its controller recreates it with podOffloadingStrategy Remote"
	case v1alpha1.PodsLocalFirst:
		return text + ", without the preference for local nodes; delete it, and its controller recreates it with podOffloadingStrategy LocalFirst"
	default:
		return text
	}
}
