package syncer

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
	fixture "github.com/spillway-io/spillway/internal/decide/decidetest"
	"github.com/spillway-io/spillway/internal/kind"
)

// TestAfforded has a copy that there is no room for, until there is.
func TestAfforded(t *testing.T) {
	m, clock := testMemory()
	full := "namespace team has 25 objects there, and one namespace may have 25"
	c := &kindController[*corev1.ConfigMap]{
		Kind:   kind.Kind[*corev1.ConfigMap]{Name: "configmap", Copied: true, Syncer: fixture.Copies, RemoteName: fixture.Plain{}.RemoteName},
		memory: m, pair: &pair{clusterID: "eu", binding: "europe", clock: clock, exceeds: func(_, _ client.Object) string { return full }},
	}
	s := fixture.Wanted(fixture.Local(fixture.Sent), nil)
	s.Known = true
	plan := c.afforded(&s)
	if len(plan.Actions) > 0 || plan.Problem == nil || plan.Problem.Reason != v1alpha1.ReasonOverBudget {
		t.Fatalf("got %v with the problem %v", plan.Actions, plan.Problem)
	}
	for _, part := range []string{"team-home/settings", full, "ClusterBinding europe"} {
		if !strings.Contains(plan.Problem.Message, part) {
			t.Errorf("%q does not say %q", plan.Problem.Message, part)
		}
	}
	if plan.RetryAfter <= 0 || plan.RetryAfter > 30*time.Second {
		t.Errorf("it is tried again after %s", plan.RetryAfter)
	}
	said := plan.Problem.Message
	full = "namespace team has 26 objects there, and one namespace may have 25"
	clock.Step(plan.RetryAfter)
	c.observeRefusals(&s)
	if again := c.afforded(&s); again.Problem == nil || again.Problem.Message != said {
		t.Errorf("another number is another text: %v", again.Problem)
	}
	full = ""
	clock.Step(time.Minute)
	c.observeRefusals(&s)
	if plan := c.afforded(&s); len(plan.Actions) != 1 || plan.Actions[0].Verb != decide.Create {
		t.Errorf("there is room, and what is done is %v, for %v", plan.Actions, plan.Problem)
	}
	full = "all namespaces have too much"
	gone := fixture.Wanted(nil, fixture.Remote())
	if plan := c.afforded(&gone); len(plan.Actions) != 1 || plan.Actions[0].Verb != decide.Delete {
		t.Errorf("a deletion is held up: %v", plan.Actions)
	}
}
