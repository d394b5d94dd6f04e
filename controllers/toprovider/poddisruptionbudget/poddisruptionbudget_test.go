package poddisruptionbudget

import (
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// TestKind: budgets are sent only to whom an offloading names them.
func TestKind(t *testing.T) {
	budgets, spec := Kind(), v1alpha1.NamespaceOffloadingSpec{}
	if spec.Sends(budgets.Resource) || budgets.Resource != v1alpha1.OffloadedPodDisruptionBudgets || budgets.Most != 200 {
		t.Errorf("sent with %s, by default: %t, at most %d", budgets.Resource, spec.Sends(budgets.Resource), budgets.Most)
	}
}

// TestSettles: a number must last before it is written; a smaller one, that very number.
func TestSettles(t *testing.T) {
	wants := func(n int) *policyv1.PodDisruptionBudget {
		return &policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: ptr.To(intstr.FromInt(n))}}
	}
	for name, test := range map[string]struct {
		before, after int
		change        string
	}{"more": {1, 2, ""}, "much more": {1, 3, ""}, "less": {3, 2, "2"}, "none": {3, 0, "0"}, "the same number": {2, 2, ""}} {
		if change, lasting := Kind().Settles(wants(test.before), wants(test.after)); change != test.change || lasting != 2*time.Second {
			t.Errorf("%s: %q for %s", name, change, lasting)
		}
	}
}

// TestChoose: a budget waits until the consumer has counted its pods, or cannot.
func TestChoose(t *testing.T) {
	failed := []metav1.Condition{{Type: policyv1.DisruptionAllowedCondition, Reason: policyv1.SyncFailedReason}}
	for name, test := range map[string]struct {
		status policyv1.PodDisruptionBudgetStatus
		known  bool
	}{
		"it has not been seen":        {policyv1.PodDisruptionBudgetStatus{}, false},
		"it was seen before a change": {policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 1}, false},
		"it has been seen":            {policyv1.PodDisruptionBudgetStatus{ObservedGeneration: 2}, true},
		"it cannot be counted":        {policyv1.PodDisruptionBudgetStatus{Conditions: failed}, true},
	} {
		local := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Status: test.status}
		if goes, known := (translation{}).Choose(local, network.Reach{}, decide.Inputs{}); !goes || known != test.known {
			t.Errorf("%s: goes %t, known %t", name, goes, known)
		}
	}
}

// TestKeeps: a copy goes when its owner keeps the budget at home, and for no other reason.
func TestKeeps(t *testing.T) {
	for reason, want := range map[string]bool{
		field.ReasonSelectorNotSent: true, ReasonBudgetUnknown: true, field.ReasonSyncNever: false,
	} {
		if got := (translation{}).Keeps(&field.Problem{Reason: reason}); got != want {
			t.Errorf("%s: %t, want %t", reason, got, want)
		}
	}
}
