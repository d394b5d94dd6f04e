package namespaceoffloading

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// An outage is reported once, and its end once, whatever the attempts to connect say
// meanwhile.
func TestOutage(t *testing.T) {
	nsm := builder.Map("eu").Desired("team", "team-c").Accepted("team", "team-c").Obj()
	eu := func() *builder.BindingBuilder { return builder.Binding("eu").Connected() }
	nso, writes := builder.Offloading("team").Obj(), 0
	for _, step := range []struct {
		name    string
		after   time.Duration
		binding *builder.BindingBuilder
		told    string
		again   time.Duration
		writes  int
	}{
		{"all is well", 0, eu(), "", 0, 1},
		{"it does not answer", 0, eu().Unreachable("connection refused"), "", 30 * time.Second, 1},
		{"nor later", 20 * time.Second, eu().Unreachable("no route to host"), "", 10 * time.Second, 1},
		{"nor after half a minute", 30 * time.Second, eu().Unreachable("no route to host"), "eu (Unreachable)", 0, 2},
		{"for another cause", time.Hour, eu().Unreachable("connection refused"), "eu (Unreachable)", 0, 2},
		{"it is back", time.Hour, eu(), "", 0, 3},
		{"it is paused", time.Hour, eu().Paused(), "the platform engineer has paused provider eu (spec.paused of its ClusterBinding); pods that run there go on", 0, 4},
		{"and is not", time.Hour, eu(), "", 0, 5},
	} {
		snapshot := Observe(nso, World{Bindings: []v1alpha1.ClusterBinding{*step.binding.Obj()}, Maps: []v1alpha1.NamespaceMap{*nsm}}, settings, builder.Epoch.Add(step.after))
		plan := Decide(snapshot)
		if !equality.Semantic.DeepEqual(plan.Status, nso.Status) {
			writes++
			nso.Status = plan.Status
		}
		told := ""
		if c := meta.FindStatusCondition(nso.Status.Conditions, v1alpha1.OffloadingProvidersReachable); c != nil {
			told = c.Message
		}
		if (told != "") != (step.told != "") || !strings.Contains(told, step.told) {
			t.Errorf("%s: it says %q, want %q", step.name, told, step.told)
		}
		if strings.Contains(told, "5 minutes") != strings.Contains(told, "cannot be reached") {
			t.Errorf("%s: for how long pods are waited for is said of outages, and of nothing else: %q", step.name, told)
		}
		if plan.Again != step.again {
			t.Errorf("%s: it looks again after %s, want %s", step.name, plan.Again, step.again)
		}
		if reason, again := Outage(step.binding.Obj(), builder.Epoch.Add(step.after)); again != step.again || (reason != "") != (told != "") {
			t.Errorf("%s: pods are told of %q, and looked at again after %s", step.name, reason, again)
		}
		if writes != step.writes {
			t.Errorf("%s: %d writes, want %d", step.name, writes, step.writes)
		}
		if nso.Status.OffloadingPhase != v1alpha1.OffloadingPhaseReady {
			t.Errorf("%s: the phase is %s", step.name, nso.Status.OffloadingPhase)
		}
	}
}

// A paused provider is not reported as out of reach.
func TestPausedIsNoOutage(t *testing.T) {
	const paused = "the platform engineer has paused provider us (spec.paused of its ClusterBinding)"
	for name, test := range map[string]struct{ got, want string }{
		"a pod of one that is away":       {NotSent("eu", v1alpha1.ReasonUnreachable), "provider eu cannot be reached (Unreachable): the pod is sent there when it is back"},
		"a pod of one that is paused":     {NotSent("us", v1alpha1.ReasonPaused), paused + ": the pod is sent there when that ends"},
		"an offloading, one is away":      {awayMessage([]string{"eu (Unreachable)"}, nil), "these cannot be reached: eu (Unreachable)"},
		"an offloading, one is paused":    {awayMessage(nil, []string{"us"}), paused},
		"an offloading, one is of each":   {awayMessage([]string{"eu (Unreachable)"}, []string{"us"}), "these cannot be reached: eu (Unreachable); " + paused},
		"an offloading that waits for it": {Unreachable(builder.Binding("us").Connected().Paused().Obj()), paused},
	} {
		if test.got != test.want {
			t.Errorf("%s: it says %q, want %q", name, test.got, test.want)
		}
	}
}
