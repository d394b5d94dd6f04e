package unscheduledpod

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

// Waiting reads from a pod without a node what decides which tiers it may use.
func Waiting(pod *corev1.Pod) spill.Waiting {
	w := spill.Waiting{
		Opened:    spill.ParseOpened(pod.Annotations[v1alpha1.AnnotationOverflow]),
		Tolerates: func(clusterID string) bool { return admission.Tolerates(pod, clusterID) },
		Nominated: pod.Status.NominatedNodeName != "",
	}
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodScheduled })
	if i < 0 || !waitsForNode(pod) {
		return w
	}
	c := pod.Status.Conditions[i]
	if c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
		w.Since = c.LastTransitionTime.Time
	}
	// Some API servers keep no observed generation. Then only the first report is certain.
	w.Seen = c.ObservedGeneration >= pod.Generation
	if w.Blind = c.ObservedGeneration == 0; w.Blind {
		w.Seen = len(w.Opened) == 0
	}
	return w
}

// Able returns the tiers with those of their providers that can create the volumes of the pod's claims.
func Able(tiers []spill.Tier, claims []Claim) []spill.Tier {
	able, _ := creating(spill.Open(tiers, len(tiers)), claims)
	return spill.Only(tiers, able)
}

// Known returns the tiers as far as a pod itself shows them. If the pod names claims, it does not show which providers
// can create their volumes: of the tiers that were opened for it, it has got those.
func Known(tiers []spill.Tier, pod *corev1.Pod) []spill.Tier {
	if len(needs.Claims(pod)) == 0 {
		return tiers
	}
	opened := 0
	if w := Waiting(pod); len(w.Opened) > 0 {
		opened = min(w.Opened[len(w.Opened)-1].Tier+1, len(tiers))
	}
	tolerated := slices.DeleteFunc(spill.Open(tiers, opened-1), func(id string) bool { return !admission.Tolerates(pod, id) })
	return slices.Concat(spill.Only(tiers[:opened], tolerated), tiers[opened:])
}

// admitted reports whether a pod is one that admission lets go to any provider of the tiers, whatever it contains: the
// strategy is Remote, and the pod can run on virtual nodes only.
func admitted(pod *corev1.Pod, nso *v1alpha1.NamespaceOffloading) bool {
	return len(nso.Spec.Overflow) > 0 && nso.Spec.PodOffloadingStrategy == v1alpha1.PodsRemote && OnlyVirtual(pod)
}

func waitsForNode(pod *corev1.Pod) bool {
	return pod.Spec.NodeName == "" && pod.DeletionTimestamp.IsZero() && !isDaemonSetPod(pod)
}

// Ordered completes a plan for a pod of a namespace with spec.overflow. The plan is about the providers of the tiers
// that the pod may use according to d.
func Ordered(plan Plan, pod *corev1.Pod, tiers []spill.Tier, d spill.Decision, now time.Time) Plan {
	if !waitsForNode(pod) {
		return Plan{}
	}
	if d.Wait > 0 && (plan.RecheckAfter == 0 || d.Wait < plan.RecheckAfter) {
		plan.RecheckAfter = d.Wait
	}
	switch added := clusterIDs(plan.Tolerations); {
	case d.FitsNone:
		plan.Reason, plan.Warns = v1alpha1.ReasonFitsNoTier, true
		plan.Message = "the pod may use every tier of spec.overflow, and the scheduler finds no room for it in any of them: " + describe(tiers)
	case len(plan.Tolerations) == 0:
	case d.Opens:
		plan.Reason = v1alpha1.ReasonTierOpened
		plan.Message = fmt.Sprintf("the scheduler found no room in the tiers before for %s, so the pod may use tier %d now: %s", tiers[d.Tier].After, d.Tier, added)
	default: // A provider is new in a tier that is open, or the status did not list the first tier at admission.
		plan.Reason = v1alpha1.ReasonTierOpened
		plan.Message = fmt.Sprintf("the pod may use the providers that tier %d and those before have now: %s", d.Tier, added)
	}
	if len(plan.Tolerations) > 0 {
		plan.Opened = Waiting(pod).Opened.With(d.Tier, now).String()
	}
	return plan
}

// LeftOut completes the message of a plan for a pod to which providers are closed for a while. said says which, until when
// and why; empty: none is. Such a pod may not use every tier.
func LeftOut(plan Plan, said string) Plan {
	switch {
	case said == "" || plan.Message == "":
	case plan.Reason == v1alpha1.ReasonFitsNoTier:
		plan.Reason = v1alpha1.ReasonProvidersFull
		plan.Message = "the scheduler finds no room for the pod where it may go, and other providers of spec.overflow are left out: " + said
	default:
		plan.Message += "; " + said
	}
	return plan
}

func clusterIDs(tolerations []corev1.Toleration) string {
	var ids []string
	for _, t := range tolerations {
		ids = append(ids, t.Value)
	}
	return strings.Join(ids, ", ")
}

func describe(tiers []spill.Tier) string {
	parts := make([]string, len(tiers))
	for i, tier := range tiers {
		switch {
		case tier.Local:
			parts[i] = "this cluster"
		case tier.Empty():
			parts[i] = "no provider"
		default:
			parts[i] = strings.Join(tier.Clusters, ", ")
		}
		parts[i] = fmt.Sprintf("tier %d: %s", i, parts[i])
	}
	return strings.Join(parts, "; ")
}
