package clusterbinding

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

func TestLimited(t *testing.T) {
	lacking := func(lack connection.Unreadable) snapshot {
		return up(func(s *snapshot) { s.Connection.Limited = lack })
	}
	right := connection.RightMissing("watch nodes")
	after := func(link connection.State) snapshot {
		return up(func(s *snapshot) { s.Binding.Status, s.Connection = Decide(lacking(right)), link })
	}
	connected := connection.State{Phase: connection.Connected}
	const watchNodes = "True RightsMissing: the provider does not let Spillway watch nodes: objects that need this wait, " +
		"and existing remote objects stay unchanged; apply this version's provider.yaml there"
	const noMetrics = "kubectl top and HorizontalPodAutoscalers have no metrics of remote pods: it serves none"
	unmetered := func(s *snapshot) { s.Connection.NoMetrics = "it serves none" }
	const noForeign = "the virtual node also offers what other pods in the provider use: they are too many"
	crowded := func(s *snapshot) { s.Connection.NoForeign = "they are too many" }
	for name, test := range map[string]struct {
		snapshot snapshot
		want     string
	}{
		"metrics are missing":      {up(unmetered), "True MetricsMissing: " + noMetrics},
		"metrics and a right":      {up(func(s *snapshot) { unmetered(s); s.Connection.Limited = right }), watchNodes + "; " + noMetrics},
		"foreign pods":             {up(crowded), "True ForeignPodsUnknown: " + noForeign},
		"foreign pods and metrics": {up(func(s *snapshot) { unmetered(s); crowded(s) }), "True MetricsMissing: " + noMetrics + "; " + noForeign},
		"metrics have come":        {up(func(s *snapshot) { s.Binding.Status, s.Connection = Decide(up(unmetered)), connected }), ""},
		"nothing is missing":       {lacking(connection.Unreadable{}), ""},
		"a right is missing":       {lacking(right), watchNodes},
		"a kind is not served": {lacking(connection.NotServed("httproutes")), "True KindNotServed: the provider does not serve httproutes in the required version: objects that need this wait, " +
			"and existing remote objects stay unchanged; install its CustomResourceDefinition there"},
		"it was given":                   {after(connected), ""},
		"away: the last verdict":         {after(lost(v1alpha1.ReasonUnreachable, "why")), watchNodes},
		"connecting: the last verdict":   {after(connection.State{Phase: connection.Connecting}), watchNodes},
		"a duplicate, which is not used": {up(func(s *snapshot) { s.Binding.Status = Decide(lacking(right)); s.Holder = "older" }), ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, got := Decide(test.snapshot), ""
			if c := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingLimited); c != nil {
				got = string(c.Status) + " " + c.Reason + ": " + c.Message
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if c := meta.FindStatusCondition(Decide(lacking(right)).Conditions, v1alpha1.BindingReady); c.Reason != v1alpha1.ReasonReady {
		t.Errorf("the binding is %s", c.Reason)
	}
}
