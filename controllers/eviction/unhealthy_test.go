package eviction

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clientgotesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
)

func budgetOf(namespace, name, app string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	}
}

// TestUnhealthyIsRemembered: a thousand pods of a budget that are refused cost the API
// server one look, and a later one sees what has changed.
func TestUnhealthyIsRemembered(t *testing.T) {
	waits := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "waits", Labels: map[string]string{"app": "web"}}}
	client, clock := fake.NewClientset(budgetOf("team", "db", "db"), budgetOf("team", "web", "web"), waits), clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	u := &Unhealthy{Kubernetes: client, Clock: clock}
	says := func(budget, want string, requests int) {
		t.Helper()
		if got := u.Of(t.Context(), types.NamespacedName{Namespace: "team", Name: budget}); got != want || len(client.Actions()) != requests {
			t.Errorf("it says %q after %d requests, want %q after %d", got, len(client.Actions()), want, requests)
		}
	}
	says("web", "; not healthy: waits (waits for a node)", 2)
	if err := client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "team", "waits"); err != nil {
		t.Fatal(err)
	}
	says("web", "; not healthy: waits (waits for a node)", 2)
	clock.SetTime(clock.Now().Add(remembered))
	says("web", "", 4)
	says("db", "", 6)
	if len(u.seen) != 2 {
		t.Errorf("it remembers %v", u.seen)
	}
	clock.SetTime(clock.Now().Add(3 * remembered))
	says("gone", "", 7)
	if len(u.seen) != 1 {
		t.Errorf("it still remembers %v", u.seen)
	}
}

// TestUnhealthyIsBounded: the pods of a team are large, and as many as it likes.
func TestUnhealthyIsBounded(t *testing.T) {
	long := budgetOf("team", "long", "web")
	for i := range longestSelector {
		long.Spec.Selector.MatchLabels[fmt.Sprint("key", i)] = "value"
	}
	client, pages := fake.NewClientset(budgetOf("team", "web", "web"), long), 0
	client.PrependReactor("list", "pods", func(action clientgotesting.Action) (bool, runtime.Object, error) {
		asked := action.(clientgotesting.ListActionImpl).ListOptions
		if pages++; asked.Limit != page || asked.LabelSelector != "app=web" || (asked.Continue == "") != (pages == 1) {
			t.Errorf("of page %d it asks %+v", pages, asked)
		}
		return true, &corev1.PodList{ListMeta: metav1.ListMeta{Continue: "more"}, Items: make([]corev1.Pod, page)}, nil
	})
	u := &Unhealthy{Kubernetes: client, Clock: clocktesting.NewFakePassiveClock(time.Unix(0, 0))}
	u.Of(t.Context(), types.NamespacedName{Namespace: "team", Name: "web"})
	if pages != mostPages {
		t.Errorf("it reads %d pages", pages)
	}
	if u.Of(t.Context(), types.NamespacedName{Namespace: "team", Name: "long"}); pages != mostPages {
		t.Error("it asks with a selector that is too long")
	}
}

// TestUnhealthyHoldsUpNobody: a read takes long if a team's pods are large.
func TestUnhealthyHoldsUpNobody(t *testing.T) {
	client, clock := fake.NewClientset(budgetOf("slow", "web", "web"), budgetOf("other", "web", "web")), clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	begins, ends := make(chan struct{}, 2), make(chan struct{})
	waiting := []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "waits", Labels: map[string]string{"app": "web"}}}}
	answer := waiting
	client.PrependReactor("list", "pods", func(action clientgotesting.Action) (bool, runtime.Object, error) {
		if action.GetNamespace() == "slow" {
			begins <- struct{}{}
			<-ends
			clock.SetTime(clock.Now().Add(remembered))
		}
		return true, &corev1.PodList{Items: answer}, nil
	})
	u := &Unhealthy{Kubernetes: client, Clock: clock}
	slow, other := types.NamespacedName{Namespace: "slow", Name: "web"}, types.NamespacedName{Namespace: "other", Name: "web"}
	says := func(budget types.NamespacedName, want string) {
		t.Helper()
		if got := u.Of(t.Context(), budget); got != want {
			t.Errorf("of %s it says %q, want %q", budget, got, want)
		}
	}
	const waits = "; not healthy: waits (waits for a node)"
	says(other, waits)
	clock.SetTime(clock.Now().Add(remembered))
	read := make(chan string)
	go func() { read <- u.Of(t.Context(), slow) }()
	<-begins
	answer = nil
	says(other, waits)
	says(slow, "")
	close(ends)
	if got := <-read; got != "" {
		t.Errorf("it has read %q", got)
	}
	answer = waiting
	says(slow, "") // The read took as long as its answer counts, and it is not asked again.
}
