package eviction

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
)

// TestUnhealthyIsRemembered: a thousand pods of a namespace that are refused cost the API
// server one look, and a later one sees what has changed.
func TestUnhealthyIsRemembered(t *testing.T) {
	labels := map[string]string{"app": "web"}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}}}
	waits := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "waits", Labels: labels}}
	client, clock := fake.NewClientset(budget, waits), clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	u, held := &Unhealthy{Kubernetes: client, Clock: clock}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "held", Labels: labels}}
	says := func(want string, requests int) {
		t.Helper()
		if got := u.Of(t.Context(), held); got != want || len(client.Actions()) != requests {
			t.Errorf("it says %q after %d requests, want %q after %d", got, len(client.Actions()), want, requests)
		}
	}
	says("; not healthy: waits (waits for a node)", 2)
	if err := client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "team", "waits"); err != nil {
		t.Fatal(err)
	}
	says("; not healthy: waits (waits for a node)", 2)
	clock.SetTime(clock.Now().Add(remembered))
	says("", 4)
	held.Namespace = "other"
	says("", 6)
	if len(u.seen) != 2 {
		t.Errorf("it remembers %v", u.seen)
	}
	clock.SetTime(clock.Now().Add(remembered))
	says("", 8)
	if len(u.seen) != 1 {
		t.Errorf("it still remembers %v", u.seen)
	}
}
