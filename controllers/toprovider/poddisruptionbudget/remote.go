package poddisruptionbudget

import (
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/field"
)

// ReasonBudgetUnknown: the consumer cannot compute how many pods the PodDisruptionBudget wants.
const ReasonBudgetUnknown = "BudgetUnknown"

// toRemote returns the remote PodDisruptionBudget of local, in a provider with these limits.
// healthy is the number of its pods that are healthy there; see IsHealthy.
//
// Remote pods have no controller with a scale, so percentages and maxUnavailable would never allow a
// disruption. But the consumer's disruption controller has computed them. The status of local says how
// many healthy pods the budget wants, and how many there are in all clusters. This provider must have
// the wanted ones, minus those that are healthy elsewhere. So each provider may disrupt as many pods
// as the whole budget still allows.
func toRemote(local *policyv1.PodDisruptionBudget, t field.Target, limits *field.Limits, healthy int) (*policyv1.PodDisruptionBudget, *field.Problem) {
	if refusal := field.NeverSynced("PodDisruptionBudget", local); refusal != nil {
		return nil, refusal
	}
	if key := field.UnsentLabel(local.Spec.Selector, limits); key != "" {
		return nil, field.Refuse(field.ReasonSelectorNotSent,
			"PodDisruptionBudget %s: spec.selector uses the label %s, which is not sent: it would count other pods in the provider", local.Name, key)
	}
	if syncFailed(local) {
		return nil, field.Refuse(ReasonBudgetUnknown,
			"PodDisruptionBudget %s: the number of pods it requires is unknown; see its condition %s", local.Name, policyv1.DisruptionAllowedCondition)
	}
	sent := disruptionBudgetSpecPlan.Allowed(&local.Spec)
	remote := &policyv1.PodDisruptionBudget{ObjectMeta: field.Metadata(local, t), Spec: *sent.DeepCopy()}
	remote.Spec.Selector = field.PodSelector(local.Spec.Selector)
	desired := local.Status.DesiredHealthy
	elsewhere := max(0, local.Status.CurrentHealthy-int32(healthy)) //nolint:gosec // As many pods as a cache holds.
	wanted := max(0, desired-elsewhere)
	remote.Spec.MinAvailable = ptr.To(intstr.FromInt32(wanted))
	if wanted == 0 && desired > 0 {
		// Enough pods are healthy elsewhere. But a budget of 0 would still protect unhealthy pods.
		remote.Spec.UnhealthyPodEvictionPolicy = ptr.To(policyv1.AlwaysAllow)
	}
	return remote, nil
}

// syncFailed reports whether the consumer's disruption controller cannot compute a budget.
func syncFailed(budget *policyv1.PodDisruptionBudget) bool {
	allowed := meta.FindStatusCondition(budget.Status.Conditions, policyv1.DisruptionAllowedCondition)
	return allowed != nil && allowed.Reason == policyv1.SyncFailedReason
}

// IsHealthy returns a function that reports whether a pod in the budget's namespace counts as healthy.
// It decides as the disruption controller does.
func IsHealthy(budget *policyv1.PodDisruptionBudget) func(*corev1.Pod) bool {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	return func(pod *corev1.Pod) bool {
		return err == nil && pod.DeletionTimestamp.IsZero() && field.IsReady(pod) && selector.Matches(labels.Set(pod.Labels))
	}
}

// merge returns remote with the spec of desired, which toRemote made.
func merge(desired, remote *policyv1.PodDisruptionBudget) *policyv1.PodDisruptionBudget {
	merged := field.Merged(desired, remote)
	merged.Spec = desired.Spec
	return merged
}
