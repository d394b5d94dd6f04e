package namespaceoffloading

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestOutage checks that an outage and its end are each reported once, whatever the attempts to connect
// report meanwhile.
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
		{"it is paused", time.Hour, eu().Paused(), "the platform engineer has paused provider eu (spec.paused of its ClusterBinding); as far as is known, pods there keep running", 0, 4},
		{"and is not", time.Hour, eu(), "", 0, 5},
	} {
		snapshot := Observe(nso, Providers{Bindings: placement.NewIndex([]v1alpha1.ClusterBinding{*step.binding.Obj()}), Maps: []v1alpha1.NamespaceMap{*nsm}}, settings, builder.Epoch.Add(step.after))
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
		if strings.Contains(told, "5 minutes") != strings.Contains(told, "unreachable providers") {
			t.Errorf("%s: for how long pods are waited for is said of outages, and of nothing else: %q", step.name, told)
		}
		if plan.RecheckAfter != step.again {
			t.Errorf("%s: it looks again after %s, want %s", step.name, plan.RecheckAfter, step.again)
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

// TestPausedIsNoOutage checks that a paused provider is not reported as unreachable.
func TestPausedIsNoOutage(t *testing.T) {
	const paused = "the platform engineer has paused provider us (spec.paused of its ClusterBinding)"
	for name, test := range map[string]struct{ got, want string }{
		"a pod of one that is away":       {NotSent("eu", v1alpha1.ReasonUnreachable), "provider eu cannot be reached (Unreachable): the pod is sent once it is reachable"},
		"a pod of one that is paused":     {NotSent("us", v1alpha1.ReasonPaused), paused + ": the pod is sent once that ends"},
		"an offloading, one is away":      {awayMessage([]string{"eu (Unreachable)"}, nil), "unreachable providers: eu (Unreachable)"},
		"an offloading, one is paused":    {awayMessage(nil, []string{"us"}), paused},
		"an offloading, one is of each":   {awayMessage([]string{"eu (Unreachable)"}, []string{"us"}), "unreachable providers: eu (Unreachable); " + paused},
		"an offloading that waits for it": {Unreachable(builder.Binding("us").Connected().Paused().Obj()), paused},
	} {
		if test.got != test.want {
			t.Errorf("%s: it says %q, want %q", name, test.got, test.want)
		}
	}
}

// TestOutagesOfSeveral checks that each selected provider is reported once its outage has lasted long enough.
func TestOutagesOfSeveral(t *testing.T) {
	away := func(c Cluster, reason string, since time.Duration) Cluster {
		c.Away, c.AwaySince = reason, builder.Epoch.Add(-since)
		return c
	}
	const suffix = "; as far as is known, pods there keep running; new pods on these virtual nodes wait"
	long := away(accepted("eu"), v1alpha1.ReasonUnreachable, time.Hour)
	for name, test := range map[string]struct {
		clusters []Cluster
		deleted  bool
		says     string
		again    time.Duration
	}{
		"none":                    {[]Cluster{accepted("eu")}, false, "", 0},
		"one":                     {[]Cluster{long, accepted("us")}, false, "unreachable providers: eu (Unreachable)" + suffix, 0},
		"one that is not asked":   {[]Cluster{notSelected(long)}, false, "", 0},
		"one, and it is deleted":  {[]Cluster{long}, true, "", 0},
		"one, and one is paused":  {[]Cluster{long, away(accepted("us"), v1alpha1.ReasonPaused, time.Hour)}, false, "unreachable providers: eu (Unreachable); " + pausedBy("us") + suffix, 0},
		"two":                     {[]Cluster{long, away(accepted("us"), v1alpha1.ReasonWrongCA, time.Hour)}, false, "unreachable providers: eu (Unreachable), us (WrongCA)" + suffix, 0},
		"one, and one since then": {[]Cluster{long, away(accepted("us"), v1alpha1.ReasonUnreachable, 10*time.Second)}, false, "unreachable providers: eu (Unreachable)" + suffix, 20 * time.Second},
		"the first is due first":  {[]Cluster{away(accepted("eu"), "X", 20*time.Second), away(accepted("us"), "X", 10*time.Second)}, false, "", 10 * time.Second},
		"the second is due first": {[]Cluster{away(accepted("eu"), "X", 10*time.Second), away(accepted("us"), "X", 20*time.Second)}, false, "", 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			nso := builder.Offloading("team")
			if test.deleted {
				nso.Deleted(0)
			}
			plan := Decide(Snapshot{Offloading: nso.Obj(), RemoteName: "team-c", Clusters: test.clusters, Now: builder.Epoch})
			says := ""
			if c := meta.FindStatusCondition(plan.Status.Conditions, v1alpha1.OffloadingProvidersReachable); c != nil {
				says = c.Message
			}
			if (says != "") != (test.says != "") || !strings.HasPrefix(says, test.says) || plan.RecheckAfter != test.again {
				t.Errorf("it says %q, and looks again after %s", says, plan.RecheckAfter)
			}
		})
	}
}

// TestAway checks that the reason says why the credentials are refused.
func TestAway(t *testing.T) {
	refused := builder.Binding("eu").Condition(v1alpha1.BindingConnected, metav1.ConditionFalse, v1alpha1.ReasonCredentialsInvalid, "")
	for want, binding := range map[string]*builder.BindingBuilder{
		"":                   builder.Binding("eu"),
		"CredentialsInvalid": builder.Binding("eu").Condition(v1alpha1.BindingConnected, metav1.ConditionFalse, v1alpha1.ReasonCredentialsInvalid, ""),
		"Unauthorized":       refused.Condition(v1alpha1.BindingCredentialsValid, metav1.ConditionFalse, v1alpha1.ReasonUnauthorized, ""),
		"WrongCA": builder.Binding("eu").Condition(v1alpha1.BindingConnected, metav1.ConditionFalse, v1alpha1.ReasonWrongCA, "").
			Condition(v1alpha1.BindingCredentialsValid, metav1.ConditionTrue, v1alpha1.ReasonAccepted, ""),
	} {
		if got, _ := Away(binding.Obj()); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestGoesElsewhere checks that the older binding of a provider gets the namespace, unless the younger one
// already has it.
func TestGoesElsewhere(t *testing.T) {
	of := func(name string, after time.Duration) v1alpha1.ClusterBinding {
		return *builder.Binding(name).Pinned("uid").Authorities("ca").Created(after).Connected().Obj()
	}
	eu, us := of("eu", 0), of("us", time.Hour)
	for name, test := range map[string]struct {
		binding v1alpha1.ClusterBinding
		all     []v1alpha1.ClusterBinding
		nsm     *builder.MapBuilder
		want    bool
	}{
		"the younger one":            {us, []v1alpha1.ClusterBinding{eu, us}, builder.Map("us"), true},
		"the older one":              {eu, []v1alpha1.ClusterBinding{eu, us}, builder.Map("eu"), false},
		"alone":                      {us, []v1alpha1.ClusterBinding{us}, builder.Map("us"), false},
		"it has one":                 {us, []v1alpha1.ClusterBinding{eu, us}, builder.Map("us").Accepted("team", "team-c"), false},
		"it has one of another":      {us, []v1alpha1.ClusterBinding{eu, us}, builder.Map("us").Accepted("other", "other-c"), true},
		"it has one, which is going": {us, []v1alpha1.ClusterBinding{eu, us}, builder.Map("us").Current("team", "team-c", v1alpha1.MappingTerminating, "", ""), true},
	} {
		if got := GoesElsewhere(builder.Offloading("team").Obj(), &test.binding, placement.NewIndex(test.all), test.nsm.Obj()); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
