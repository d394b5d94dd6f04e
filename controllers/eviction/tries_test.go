package eviction

import (
	"errors"
	"testing"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
)

var web = Request{Binding: "eu", NamespacedName: types.NamespacedName{Namespace: "team", Name: "web"}}

func TestTries(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	tries := &Tries{Clock: clock}
	later := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }
	expect := func(what string, got, want time.Duration) {
		t.Helper()
		if got != want {
			t.Errorf("%s: waits for %v, want %v", what, got, want)
		}
	}
	expect("the first try", tries.Wait(web, "1"), 0)
	for _, interval := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second} {
		expect("refused", tries.Refused(web, "1"), interval)
		expect("at once after a refusal", tries.Wait(web, "1"), interval)
		later(interval)
		expect("after a while", tries.Wait(web, "1"), 0)
	}
	tries.Refused(web, "1")
	expect("another pod of the name", tries.Wait(web, "2"), 0)
	expect("another pod of the name is refused", tries.Refused(web, "2"), 2*time.Second)
	expect("evicted", tries.Succeeded(web, "2"), 30*time.Second)
	expect("evicted, and not seen going", tries.Wait(web, "2"), 30*time.Second)
	if !tries.Know(web) {
		t.Error("it is not known any more")
	}
	tries.Forget(web)
	expect("forgotten", tries.Wait(web, "2"), 0)
	if tries.Know(web) {
		t.Error("it is known still")
	}
}

func TestRefusal(t *testing.T) {
	budget := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	budget.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 1 healthy pods and has 1 currently"}}
	tests := map[string]struct {
		err  error
		want string
	}{
		"a budget": {budget, "Cannot evict pod as it would violate the pod's disruption budget. The disruption budget web needs 1 healthy pods and has 1 currently"},
		"two budgets": {&apierrors.StatusError{ErrStatus: metav1.Status{Code: 500, Message: "This pod has more than one PodDisruptionBudget"}},
			"This pod has more than one PodDisruptionBudget"},
		"an API server with too much to do": {apierrors.NewTooManyRequests("too many requests", 1), ""},
		"a lost connection":                 {errors.New("connection reset by peer"), ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := refusal(test.err); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
