package namespaceoffloading

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// setOverflow reports which providers are in which tier of spec.overflow, what is wrong with the tiers, and which
// pods fit in none. The admission of pods reads the providers from here.
func setOverflow(status *v1alpha1.NamespaceOffloadingStatus, s Snapshot) {
	status.Overflow = nil
	if len(s.Tiers) == 0 || !s.Offloading.DeletionTimestamp.IsZero() {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.OffloadingOverflow)
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.OffloadingPodsFit)
		return
	}
	for _, tier := range s.Tiers {
		status.Overflow = append(status.Overflow, v1alpha1.OverflowTierStatus{Clusters: tier.Clusters})
	}
	conditions.Set(&status.Conditions, s.Offloading.Generation, overflow(s))
	if s.Waiting.Unfit.Count == 0 {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.OffloadingPodsFit)
		return
	}
	wait := "wait, although they may use every tier"
	if s.Waiting.Unfit.Count == 1 {
		wait = "waits, although it may use every tier"
	}
	conditions.Set(&status.Conditions, s.Offloading.Generation, conditions.New(v1alpha1.OffloadingPodsFit, metav1.ConditionFalse, v1alpha1.ReasonFitsNoTier,
		fmt.Sprintf("%s %s: the scheduler finds no room in any of them", s.Waiting.Unfit, wait)))
}

// overflow says whether every tier has nodes of its own. It names every tier that has not, and has the reason of the
// worst: an empty tier, if there is one.
func overflow(s Snapshot) metav1.Condition {
	reason := v1alpha1.ReasonTiersReady
	var wrong []string
	for _, o := range s.Overlaps {
		reason = v1alpha1.ReasonTiersOverlap
		wrong = append(wrong, fmt.Sprintf("%s is in tier %d, so tier %d, which selects it too, does not have it", o.ClusterID, o.Tier, o.Later))
	}
	for i, tier := range s.Tiers {
		if tier.Empty() {
			reason = v1alpha1.ReasonTierEmpty
			wrong = append(wrong, fmt.Sprintf("tier %d has no provider, so pods skip it: compare its clusterSelector with the spec.virtualNode.labels of the ClusterBindings", i))
		}
	}
	if len(wrong) > 0 {
		return conditions.New(v1alpha1.OffloadingOverflow, metav1.ConditionFalse, reason, strings.Join(wrong, "; "))
	}
	return conditions.New(v1alpha1.OffloadingOverflow, metav1.ConditionTrue, reason, "")
}
