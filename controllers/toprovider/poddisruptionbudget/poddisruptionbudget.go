// Package poddisruptionbudget sends the PodDisruptionBudgets of offloaded namespaces.
package poddisruptionbudget

import (
	"cmp"
	"strconv"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
)

// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list;watch

// most is how many PodDisruptionBudgets of one namespace are sent. The provider holds each pod
// that it evicts against all of them.
const most = 200

// lasting is how long the number of pods that a copy wants must have been another one before
// it is written. That number comes of two watches, of pods and of the status of the budget.
const lasting = 2 * time.Second

// settles has each smaller number last anew: one from between the two watches would allow too many
// disruptions.
func settles(before, after *policyv1.PodDisruptionBudget) (change string, _ time.Duration) {
	was, is := cmp.Or(before.Spec.MinAvailable, &intstr.IntOrString{}).IntValue(), cmp.Or(after.Spec.MinAvailable, &intstr.IntOrString{}).IntValue()
	if is < was {
		change = strconv.Itoa(is)
	}
	return change, lasting
}

// Kind is the kind of PodDisruptionBudgets.
func Kind() kind.Kind[*policyv1.PodDisruptionBudget] {
	budgets := kind.NewCopy[policyv1.PodDisruptionBudget, policyv1.PodDisruptionBudgetList]("poddisruptionbudget", kind.InMappedNamespace, translation{})
	budgets.Resource, budgets.Most, budgets.Trim = v1alpha1.OffloadedPodDisruptionBudgets, most, trim
	budgets.Counts, budgets.Settles = IsHealthy, settles
	return budgets
}

type translation struct{ kind.Namespaced }

var (
	_ decide.Choosing[*policyv1.PodDisruptionBudget] = translation{}
	_ decide.Keeping                                 = translation{}
)

// Choose implements decide.Choosing. Until the consumer's disruption controller has seen the
// budget as it is, nobody knows how many pods it wants.
func (translation) Choose(local *policyv1.PodDisruptionBudget, _ network.Reach, _ decide.Inputs) (goes, known bool) {
	return true, local.Status.ObservedGeneration == local.Generation || syncFailed(local)
}

// Remote implements decide.Translation.
func (translation) Remote(local *policyv1.PodDisruptionBudget, t field.Target, around decide.Inputs) (*policyv1.PodDisruptionBudget, *field.Problem) {
	return toRemote(local, t, around.Limits, around.Counted)
}

// Merge implements decide.Translation.
func (translation) Merge(desired, remote *policyv1.PodDisruptionBudget) (*policyv1.PodDisruptionBudget, bool) {
	return merge(desired, remote), false
}

// Keeps implements decide.Keeping: without the older copy, the provider could take all pods away
// at once.
func (translation) Keeps(refusal *field.Problem) bool {
	return refusal.Reason == field.ReasonSelectorNotSent || refusal.Reason == ReasonBudgetUnknown
}
