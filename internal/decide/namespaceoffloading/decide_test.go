package namespaceoffloading

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

const nothingSelected = "clusterSelector selects no ClusterBinding: compare it with the spec.virtualNode.labels of the ClusterBindings"

func current(phase v1alpha1.MappingPhase, reason, message string) *v1alpha1.CurrentMapping {
	return &v1alpha1.CurrentMapping{Namespace: "team", RemoteNamespace: "team-c", Phase: phase, Reason: reason, Message: message}
}

func selected(id string) Cluster {
	return Cluster{ClusterID: id, Selected: true, Desired: true, RemoteNamespace: "team-c"}
}

func accepted(id string) Cluster {
	c := selected(id)
	c.Current = current(v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "")
	return c
}

func failed(id string) Cluster {
	c := selected(id)
	c.Current = current(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameConflict, "not ours")
	return c
}

func going(id string) Cluster {
	c := selected(id)
	c.Current = current(v1alpha1.MappingTerminating, v1alpha1.ReasonNamespaceTerminating, "going")
	return c
}

func saying(c Cluster, reason, message string) Cluster {
	c.Desired, c.Current.Reason, c.Current.Message = false, reason, message
	return c
}

func notSelected(c Cluster) Cluster {
	c.Selected, c.Desired = false, false
	return c
}

func silent(c Cluster) Cluster {
	c.Unreachable = "Unreachable: no route to host"
	return c
}

func forgotten(id string) Cluster {
	return Cluster{ClusterID: id, RemoteNamespace: "team-c", Recorded: []string{"data"}}
}

func withPods(c Cluster, names ...string) Cluster {
	c.Pods = eviction.Remaining{Count: len(names), Names: names}
	return c
}

func blocked(c Cluster, refused string) Cluster {
	c.Pods.Refused = []string{refused}
	return c
}

func leaving(c Cluster) Cluster {
	c.Selected, c.Leaving = false, "to-"+c.ClusterID
	return c
}

func timeout(c Cluster, d time.Duration) Cluster {
	c.DeletionTimeout = d
	return c
}

// TestPodsWithoutAProvider checks that pods which need a virtual node are named while there is none for them.
// One more such pod is progress, whose report may wait. If none waits, a change of the rest of the message is
// reported at once.
func TestPodsWithoutAProvider(t *testing.T) {
	waiting := Waiting{Virtual: eviction.Remaining{Count: 1, Names: []string{"team/a"}}}
	const named = "; pods that can run only on virtual nodes wait until it selects another one: 1 pod (team/a)"
	for name, test := range map[string]struct {
		clusters []Cluster
		want     string
	}{
		"nothing is selected":       {nil, nothingSelected + named},
		"all that is selected goes": {[]Cluster{leaving(accepted("eu"))}, "clusterSelector selects only ClusterBindings that are being deleted: to-eu" + named},
		"one is selected":           {[]Cluster{accepted("eu")}, "1 of 1 remote namespaces are ready"},
	} {
		t.Run(name, func(t *testing.T) {
			s := Snapshot{Offloading: builder.Offloading("team").Generation(3).Obj(), RemoteName: "team-c", Clusters: test.clusters, Waiting: waiting, Now: builder.Epoch}
			plan := Decide(s)
			if got := meta.FindStatusCondition(plan.Status.Conditions, v1alpha1.OffloadingReady).Message; got != test.want || plan.Progress {
				t.Errorf("got %q (progress: %v), want %q", got, plan.Progress, test.want)
			}
			s.Offloading.Status, s.Waiting.Virtual.Count = plan.Status, 2
			if none := plan.Status.OffloadingPhase == v1alpha1.OffloadingPhaseNoClusterSelected; ReportsWaiting(s.Offloading) != none || Decide(s).Progress != none {
				t.Errorf("one more: %v, %v", ReportsWaiting(s.Offloading), Decide(s).Progress)
			}
			if s.Waiting = (Waiting{}); Decide(s).Progress {
				t.Error("that none waits may wait")
			}
		})
	}
}

func TestPhases(t *testing.T) {
	const pending = ": the remote namespace has not been created yet"
	tests := map[string]struct {
		clusters []Cluster
		refusal  string
		phase    v1alpha1.OffloadingPhase
		reason   string // The phase, if empty.
		message  string
	}{
		"refused":                      {[]Cluster{notSelected(accepted("eu"))}, "it belongs to the cluster", v1alpha1.OffloadingPhaseRefused, v1alpha1.ReasonRefused, "it belongs to the cluster"},
		"nothing is selected":          {nil, "", v1alpha1.OffloadingPhaseNoClusterSelected, "", nothingSelected},
		"nothing is selected any more": {[]Cluster{notSelected(accepted("eu"))}, "", v1alpha1.OffloadingPhaseNoClusterSelected, "", nothingSelected},
		"all that are selected go": {[]Cluster{leaving(withPods(accepted("eu"), "team/a", "team/b")), leaving(accepted("us"))}, "", v1alpha1.OffloadingPhaseNoClusterSelected, "",
			"clusterSelector selects only ClusterBindings that are being deleted: to-eu, with 2 pods (team/a, team/b) left; to-us"},
		"one that is selected goes, and a budget is in the way": {[]Cluster{leaving(blocked(withPods(accepted("eu"), "team/a"), "team/a: its budget says no"))}, "",
			v1alpha1.OffloadingPhaseNoClusterSelected, "",
			"clusterSelector selects only ClusterBindings that are being deleted: to-eu, with 1 pod (team/a) left, and the API server refuses to evict team/a: its budget says no"},
		"one goes, another stays":    {[]Cluster{leaving(accepted("eu")), accepted("us")}, "", v1alpha1.OffloadingPhaseReady, "", "1 of 1 remote namespaces are ready"},
		"one is ready":               {[]Cluster{accepted("eu")}, "", v1alpha1.OffloadingPhaseReady, "", "1 of 1 remote namespaces are ready"},
		"all are ready":              {[]Cluster{accepted("eu"), accepted("us")}, "", v1alpha1.OffloadingPhaseReady, "", "2 of 2 remote namespaces are ready"},
		"ready, though out of reach": {[]Cluster{silent(accepted("eu"))}, "", v1alpha1.OffloadingPhaseReady, "", "1 of 1 remote namespaces are ready"},
		"what is not required does not count as ready": {
			[]Cluster{selected("eu"), notSelected(accepted("us"))}, "", v1alpha1.OffloadingPhaseInProgress, "", "eu" + pending},
		"what is not required does not count as failed": {
			[]Cluster{accepted("eu"), notSelected(failed("us"))}, "", v1alpha1.OffloadingPhaseReady, "", "1 of 1 remote namespaces are ready"},
		"none is there yet": {[]Cluster{selected("eu"), selected("us")}, "", v1alpha1.OffloadingPhaseInProgress, "", "eu" + pending + "; us" + pending},
		"some are there":    {[]Cluster{accepted("eu"), selected("us")}, "", v1alpha1.OffloadingPhaseInProgress, "", "us" + pending},
		"one is going":      {[]Cluster{accepted("eu"), going("us")}, "", v1alpha1.OffloadingPhaseInProgress, "", "us: going"},
		"one is out of reach and not there": {
			[]Cluster{accepted("eu"), silent(selected("us"))}, "", v1alpha1.OffloadingPhaseInProgress, "", "us: Unreachable: no route to host"},
		"one has failed, one is ready":   {[]Cluster{accepted("eu"), failed("us")}, "", v1alpha1.OffloadingPhaseSomeFailed, "", "us: not ours"},
		"one has failed, one is pending": {[]Cluster{selected("eu"), failed("us")}, "", v1alpha1.OffloadingPhaseSomeFailed, "", "us: not ours; eu" + pending},
		"one has failed, one is going":   {[]Cluster{going("eu"), failed("us")}, "", v1alpha1.OffloadingPhaseSomeFailed, "", "us: not ours; eu: going"},
		"one has failed":                 {[]Cluster{failed("eu")}, "", v1alpha1.OffloadingPhaseAllFailed, "", "eu: not ours"},
		"all have failed":                {[]Cluster{failed("eu"), failed("us")}, "", v1alpha1.OffloadingPhaseAllFailed, "", "eu: not ours; us: not ours"},
		"all that are required have failed": {
			[]Cluster{failed("eu"), notSelected(accepted("us"))}, "", v1alpha1.OffloadingPhaseAllFailed, "", "eu: not ours"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := Snapshot{Offloading: builder.Offloading("team").Generation(3).Obj(), RemoteName: "team-c", Refusal: test.refusal, Clusters: test.clusters, Now: time.Now()}
			plan := Decide(s)
			reason, status := test.reason, metav1.ConditionFalse
			if reason == "" {
				reason = string(test.phase)
			}
			if test.phase == v1alpha1.OffloadingPhaseReady {
				status = metav1.ConditionTrue
			}
			check(t, plan, test.phase, status, reason, test.message)
			checkStored(t, s, plan)
		})
	}
}

func check(t *testing.T, plan Plan, phase v1alpha1.OffloadingPhase, status metav1.ConditionStatus, reason, message string) {
	t.Helper()
	type summary struct {
		Phase           v1alpha1.OffloadingPhase
		Status          metav1.ConditionStatus
		Reason, Message string
		Observed        int64
		Name            string
	}
	got := summary{Phase: plan.Status.OffloadingPhase, Observed: plan.Status.ObservedGeneration, Name: plan.Status.RemoteNamespaceName}
	if c := meta.FindStatusCondition(plan.Status.Conditions, v1alpha1.OffloadingReady); c != nil {
		got.Status, got.Reason, got.Message = c.Status, c.Reason, c.Message
	}
	name := "team-c"
	if phase == v1alpha1.OffloadingPhaseRefused {
		name = "" // There is no remote namespace.
	}
	if diff := cmp.Diff(summary{phase, status, reason, message, 3, name}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// checkStored checks that nothing is written once the status is stored.
func checkStored(t *testing.T, s Snapshot, plan Plan) {
	t.Helper()
	s.Offloading = s.Offloading.DeepCopy()
	s.Offloading.Status = plan.Status
	if again := Decide(s); !equality.Semantic.DeepEqual(plan.Status, again.Status) {
		t.Errorf("decided again, it differs (-first +second)\n%s", cmp.Diff(plan.Status, again.Status))
	}
}

func TestDeletionSteps(t *testing.T) {
	leftover := func(id string) Cluster { return notSelected(accepted(id)) }
	at := func(d time.Duration) time.Time { return builder.Epoch.Add(d) }
	tests := map[string]struct {
		clusters        []Cluster
		now             time.Time
		reason, message string
		removable       bool
		retry           time.Duration
	}{
		"pods first": {
			[]Cluster{withPods(accepted("eu"), "team/a", "team/b", "team/c")}, at(0), v1alpha1.ReasonEvictingPods,
			"evicting pods from virtual nodes: eu: 3 pods (team/a, team/b, team/c)", false, 0},
		"pods, when all else is gone": {
			[]Cluster{withPods(Cluster{ClusterID: "eu"}, "team/a")}, at(0), v1alpha1.ReasonEvictingPods,
			"evicting pods from virtual nodes: eu: 1 pod (team/a)", false, 0},
		"a pod that may not go": {
			[]Cluster{blocked(withPods(accepted("eu"), "team/a"), "team/a: its budget says no"), accepted("us")}, at(0), v1alpha1.ReasonEvictingPods,
			"evicting pods from virtual nodes: eu: 1 pod (team/a), and the API server refuses to evict team/a: its budget says no", false, 0},
		"pods, and some of a provider that is out of reach": {
			[]Cluster{withPods(accepted("eu"), "team/a"), silent(withPods(accepted("us"), "team/b"))}, at(0), v1alpha1.ReasonEvictingPods,
			"evicting pods from virtual nodes: eu: 1 pod (team/a); us: Unreachable: no route to host, with remote namespace team-c and 1 pod (team/b) left", false, 0},
		"pods of a provider that is out of reach": {
			[]Cluster{silent(withPods(accepted("eu"), "team/a", "team/b"))}, at(0), v1alpha1.ReasonProviderUnreachable,
			"the deletion waits for providers that cannot be reached: eu: Unreachable: no route to host, with remote namespace team-c and 2 pods (team/a, team/b) left", false, 0},
		"pods alone, of a provider that is out of reach": {
			[]Cluster{silent(withPods(Cluster{ClusterID: "eu"}, "team/a"))}, at(0), v1alpha1.ReasonProviderUnreachable,
			"the deletion waits for providers that cannot be reached: eu: Unreachable: no route to host, with 1 pod (team/a) left", false, 0},
		"then remote namespaces": {
			[]Cluster{accepted("eu"), leftover("us")}, at(0), v1alpha1.ReasonDeletingNamespaces, "deleting remote namespaces: eu: team-c; us: team-c", false, 0},
		"an entry that is asked for still": {
			[]Cluster{selected("eu")}, at(0), v1alpha1.ReasonDeletingNamespaces, "deleting remote namespaces: eu: team-c", false, 0},
		"some are gone": {
			[]Cluster{{ClusterID: "eu", RemoteNamespace: "team-c"}, leftover("us")}, at(0), v1alpha1.ReasonDeletingNamespaces, "deleting remote namespaces: us: team-c", false, 0},
		"one could not be made: its entry has to go too": {
			[]Cluster{failed("eu")}, at(0), v1alpha1.ReasonDeletingNamespaces, "deleting remote namespaces: eu: team-c", false, 0},
		"one is out of reach, others are not": {
			[]Cluster{silent(leftover("eu")), leftover("us")}, at(0), v1alpha1.ReasonDeletingNamespaces,
			"deleting remote namespaces: us: team-c; eu: Unreachable: no route to host, with remote namespace team-c left", false, 0},
		"all are out of reach, for ever": {
			[]Cluster{silent(leftover("eu"))}, at(1000 * time.Hour), v1alpha1.ReasonProviderUnreachable,
			"the deletion waits for providers that cannot be reached: eu: Unreachable: no route to host, with remote namespace team-c left", false, 0},
		"out of reach, until the time is up": {
			[]Cluster{timeout(silent(leftover("eu")), time.Minute)}, at(time.Minute - 1), v1alpha1.ReasonProviderUnreachable,
			"the deletion waits for providers that cannot be reached: eu: Unreachable: no route to host, with remote namespace team-c left", false, 1},
		"the first time that is up counts": {
			[]Cluster{timeout(silent(leftover("eu")), time.Hour), timeout(silent(leftover("us")), time.Minute), silent(leftover("ap"))}, at(0), v1alpha1.ReasonProviderUnreachable,
			"the deletion waits for providers that cannot be reached: eu: Unreachable: no route to host, with remote namespace team-c left; us: Unreachable: no route to host, with remote namespace team-c left; ap: Unreachable: no route to host, with remote namespace team-c left", false, time.Minute},
		"the time is up": {
			[]Cluster{timeout(silent(accepted("eu")), time.Minute)}, at(time.Minute), v1alpha1.ReasonProviderUnreachable, "deletionTimeout has passed; left in providers: eu: team-c", true, 0},
		"the time is up, and pods are left": {
			[]Cluster{timeout(silent(withPods(accepted("eu"), "team/a")), time.Minute)}, at(time.Hour), v1alpha1.ReasonProviderUnreachable,
			"deletionTimeout has passed; left in providers: eu: team-c, with 1 pod (team/a) left", true, 0},
		"the time is up, but the provider answers, and pods are left": {
			[]Cluster{timeout(withPods(accepted("eu"), "team/a"), time.Minute)}, at(time.Hour), v1alpha1.ReasonEvictingPods,
			"evicting pods from virtual nodes: eu: 1 pod (team/a)", false, 0},
		"the time is up at one, not at another": {
			[]Cluster{timeout(silent(accepted("eu")), time.Minute), timeout(silent(accepted("us")), time.Hour)}, at(2 * time.Minute), v1alpha1.ReasonProviderUnreachable,
			"the deletion waits for providers that cannot be reached: us: Unreachable: no route to host, with remote namespace team-c left", false, 58 * time.Minute},
		"the time is up, but the provider answers": {
			[]Cluster{timeout(accepted("eu"), time.Minute)}, at(time.Hour), v1alpha1.ReasonDeletingNamespaces, "deleting remote namespaces: eu: team-c", false, 0},
		"it hangs in a provider that answers": {
			[]Cluster{timeout(notSelected(going("eu")), time.Minute)}, at(20 * time.Second), v1alpha1.ReasonDeletingNamespaces, "deleting remote namespaces: eu: team-c", false, 40 * time.Second},
		"it hangs in a provider that answers, and the time is up": {
			[]Cluster{timeout(notSelected(going("eu")), time.Minute)}, at(time.Minute), v1alpha1.ReasonDeletingNamespaces, "deletionTimeout has passed; left in providers: eu: team-c", true, 0},
		"it hangs, and the provider says why": {
			[]Cluster{saying(going("eu"), v1alpha1.ReasonNotRequired, namespacemap.WithBlocker("it goes", "ContentRemaining: x"))}, at(0), v1alpha1.ReasonDeletingNamespaces,
			"deleting remote namespaces: eu: team-c (the provider says ContentRemaining: x)", false, 0},
		"several hang, and each provider says much": {
			[]Cluster{saying(going("eu"), v1alpha1.ReasonDeletionFailed, strings.Repeat("x", 500)), saying(going("us"), v1alpha1.ReasonDeletionFailed, "no"), leftover("ap")}, at(0),
			v1alpha1.ReasonDeletingNamespaces, "deleting remote namespaces: eu: team-c (" + strings.Repeat("x", 199) + "…); us: team-c (no); ap: team-c", false, 0},
		"it has volumes, whatever time has passed": {
			[]Cluster{timeout(saying(going("eu"), v1alpha1.ReasonVolumesRemain, "claim data"), time.Minute), leftover("us")}, at(time.Hour), v1alpha1.ReasonVolumesRemain,
			"eu: team-c: claim data; us: team-c", false, 0},
		"it has volumes in a provider that does not answer, whatever time has passed": {
			[]Cluster{timeout(silent(saying(going("eu"), v1alpha1.ReasonVolumesRemain, "claim data")), time.Minute)}, at(time.Hour), v1alpha1.ReasonVolumesRemain,
			"eu: team-c: claim data", false, 0},
		"its map is gone, and it has volumes, whatever time has passed": {
			[]Cluster{timeout(silent(forgotten("eu")), time.Minute)}, at(time.Hour), v1alpha1.ReasonVolumesRemain,
			"eu: team-c: " + namespacemap.VolumesForgotten([]string{"data"}), false, 0},
		"its deletion is refused": {
			[]Cluster{saying(going("eu"), v1alpha1.ReasonDeletionFailed, "no")}, at(0), v1alpha1.ReasonDeletingNamespaces,
			"deleting remote namespaces: eu: team-c (no)", false, 0},
		"the provider never says whether it has made it": {
			[]Cluster{timeout(Cluster{ClusterID: "eu", RemoteNamespace: "team-c", Desired: true}, time.Minute)}, at(20 * time.Second), v1alpha1.ReasonDeletingNamespaces,
			"deleting remote namespaces: eu: team-c", false, 40 * time.Second},
		"it hangs in one that answers, and another does not": {
			[]Cluster{timeout(notSelected(going("eu")), time.Minute), timeout(silent(leftover("us")), time.Minute)}, at(time.Minute), v1alpha1.ReasonProviderUnreachable,
			"deletionTimeout has passed; left in providers: eu: team-c; us: team-c", true, 0},
		"out of reach, and nothing was there": {
			[]Cluster{silent(Cluster{ClusterID: "eu", Selected: true, RemoteNamespace: "team-c"})}, at(0), v1alpha1.ReasonDeletingNamespaces, "all remote namespaces are gone", true, 0},
		"all are gone": {nil, at(0), v1alpha1.ReasonDeletingNamespaces, "all remote namespaces are gone", true, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := Snapshot{Offloading: builder.Offloading("team").Generation(3).Deleted(0).Obj(), RemoteName: "team-c", Clusters: test.clusters, Now: test.now}
			plan := Decide(s)
			check(t, plan, v1alpha1.OffloadingPhaseTerminating, metav1.ConditionFalse, test.reason, test.message)
			checkStored(t, s, plan)
			removable, retry := Removable(s)
			if removable != test.removable || retry != test.retry {
				t.Errorf("removable: %v, again after %v, want %v, %v", removable, retry, test.removable, test.retry)
			}
			if plan.Progress {
				t.Error("a step of the deletion may be held back")
			}
		})
	}
}

// TestAnswersAboutVolumes: whoever deletes an offloading decides what becomes of the volumes, and nobody else.
func TestAnswersAboutVolumes(t *testing.T) {
	volumes := timeout(silent(saying(going("eu"), v1alpha1.ReasonVolumesRemain, "claim data")), time.Minute)
	const lose, keep = v1alpha1.AnnotationLoseVolumes, v1alpha1.AnnotationKeepVolumes
	for name, test := range map[string]struct {
		answer    string
		clusters  []Cluster
		removable bool
		given     string
	}{
		"none":                       {"", []Cluster{volumes}, false, ""},
		"they stay":                  {keep, []Cluster{volumes}, true, ""},
		"they stay, pods are there":  {keep, []Cluster{withPods(volumes, "team/a")}, false, ""},
		"they stay, others must go":  {keep, []Cluster{volumes, accepted("us")}, false, ""},
		"none, and the map is gone":  {"", []Cluster{forgotten("eu")}, false, ""},
		"they stay, as the map says": {keep, []Cluster{forgotten("eu")}, true, ""},
		"they go with the namespace": {lose, []Cluster{forgotten("eu")}, false, ""},
		"they go, after the timeout": {lose, []Cluster{volumes}, true, "remote namespaces left until their provider deletes them: eu: team-c"},
	} {
		nso := builder.Offloading("team").Deleted(0).Obj()
		nso.Annotations = map[string]string{test.answer: "true"}
		s := Snapshot{Offloading: nso, RemoteName: "team-c", Clusters: test.clusters, Now: builder.Epoch.Add(time.Hour)}
		removable, _ := Removable(s)
		if removable != test.removable || removable && GivenUp(s) != test.given {
			t.Errorf("%s: removable: %t, given up: %q", name, removable, GivenUp(s))
		}
	}
}

func TestDeletionWithPodsThatWait(t *testing.T) {
	left := func(names ...string) eviction.Remaining { return eviction.Remaining{Count: len(names), Names: names} }
	refused := Waiting{Recreated: eviction.Remaining{Count: 1, Names: []string{"team/a"}, Refused: []string{"team/a: no"}}}
	const evicting = "evicting pods that wait for a virtual node, so that their controllers recreate them: 1 pod (team/a), and the API server refuses to evict team/a: no"
	const stranded = "1 pod (team/b) waits for a virtual node that the namespace no longer uses, and no known controller recreates them: delete them; "
	for name, test := range map[string]struct {
		clusters        []Cluster
		waiting         Waiting
		reason, message string
		removable       bool
		retry           time.Duration
	}{
		"they are made again": {nil, Waiting{Recreated: left("team/a")}, v1alpha1.ReasonEvictingPods,
			"evicting pods that wait for a virtual node, so that their controllers recreate them: 1 pod (team/a)", false, 0},
		"and others are there": {[]Cluster{withPods(accepted("eu"), "team/c")}, Waiting{Recreated: left("team/a")}, v1alpha1.ReasonEvictingPods,
			"evicting pods that wait for a virtual node, so that their controllers recreate them: 1 pod (team/a); evicting pods from virtual nodes: eu: 1 pod (team/c)", false, 0},
		"the API server refuses":          {[]Cluster{{ClusterID: "eu", Selected: true}}, refused, v1alpha1.ReasonEvictingPods, evicting, false, 0},
		"it does, and there is a timeout": {[]Cluster{{ClusterID: "eu", Selected: true, DeletionTimeout: time.Minute}, {ClusterID: "us", Selected: true, DeletionTimeout: time.Hour}}, refused, v1alpha1.ReasonEvictingPods, evicting, false, 59 * time.Minute},
		"it does, and that has passed":    {[]Cluster{{ClusterID: "eu", Selected: true, DeletionTimeout: time.Minute}}, refused, v1alpha1.ReasonDeletingNamespaces, "all remote namespaces are gone", true, 0},
		"nobody makes them again":         {nil, Waiting{Stranded: left("team/b")}, v1alpha1.ReasonDeletingNamespaces, stranded + "all remote namespaces are gone", true, 0},
		"nobody does, and more is left":   {[]Cluster{accepted("eu")}, Waiting{Stranded: left("team/b")}, v1alpha1.ReasonDeletingNamespaces, stranded + "deleting remote namespaces: eu: team-c", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := Snapshot{Offloading: builder.Offloading("team").Generation(3).Deleted(0).Obj(), RemoteName: "team-c", Clusters: test.clusters, Waiting: test.waiting, Now: builder.Epoch.Add(time.Minute)}
			plan := Decide(s)
			check(t, plan, v1alpha1.OffloadingPhaseTerminating, metav1.ConditionFalse, test.reason, test.message)
			checkStored(t, s, plan)
			if removable, retry := Removable(s); removable != test.removable || !removable && retry != test.retry {
				t.Errorf("removable: %v, again after %v", removable, retry)
			}
		})
	}
}

func TestRemoteConditions(t *testing.T) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	type pair struct{ required, ready metav1.Condition }
	condition := func(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: 1}
	}
	required := condition("OffloadingRequired", yes, "ClusterSelected", "")
	notRequired := condition("OffloadingRequired", no, "ClusterNotSelected", "the remote namespace is no longer needed")
	active := condition("Ready", yes, "NamespaceActive", "")
	withoutReason := selected("eu")
	withoutReason.Current = current(v1alpha1.MappingTerminating, "", "")
	tests := map[string]struct {
		cluster Cluster
		deleted bool
		want    *pair
	}{
		"ready":                   {accepted("eu"), false, &pair{required, active}},
		"ready, and out of reach": {silent(accepted("eu")), false, &pair{required, active}},
		"asked for":               {selected("eu"), false, &pair{required, condition("Ready", no, "Pending", "the remote namespace has not been created yet")}},
		"to be asked for, and that is refused here": {Cluster{ClusterID: "eu", RemoteNamespace: "team-c", Selected: true, Refused: "no right"}, false, &pair{required,
			condition("Ready", no, "ForbiddenInConsumer", "the remote namespace has not been created yet: no right")}},
		"asked for, and out of reach":      {silent(selected("eu")), false, &pair{required, condition("Ready", no, "ProviderUnreachable", "Unreachable: no route to host")}},
		"failed":                           {failed("eu"), false, &pair{required, condition("Ready", no, "NameConflict", "not ours")}},
		"going":                            {going("eu"), false, &pair{required, condition("Ready", no, "NamespaceTerminating", "going")}},
		"the phase stands in for a reason": {withoutReason, false, &pair{required, condition("Ready", no, "Terminating", "")}},
		"not required any more":            {notSelected(accepted("eu")), false, &pair{notRequired, active}},
		"not required any more, but pods are left": {withPods(notSelected(accepted("eu")), "team/a"), false, &pair{
			condition("OffloadingRequired", no, "ClusterNotSelected", "the remote namespace is no longer needed; the pods of the namespace are evicted from the virtual node first"), active}},
		"not required any more, but a pod may not go": {blocked(withPods(notSelected(accepted("eu")), "team/a"), "team/a: no"), false, &pair{
			condition("OffloadingRequired", no, "ClusterNotSelected", "the remote namespace is no longer needed; the pods of the namespace are evicted from the virtual node first; the API server refuses to evict team/a: no"), active}},
		"the offloading is being deleted": {accepted("eu"), true, &pair{notRequired, active}},
		"nothing is there":                {Cluster{ClusterID: "eu", RemoteNamespace: "team-c"}, false, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			nso := builder.Offloading("team")
			if test.deleted {
				nso.Deleted(0)
			}
			// Reports about providers are removed together with their entries.
			nso.Status(v1alpha1.NamespaceOffloadingStatus{RemoteNamespaceConditions: []v1alpha1.RemoteNamespaceStatus{{Cluster: "gone"}}})
			var want []v1alpha1.RemoteNamespaceStatus
			if test.want != nil {
				want = []v1alpha1.RemoteNamespaceStatus{{Cluster: "eu", RemoteNamespace: "team-c", Conditions: []metav1.Condition{test.want.required, test.want.ready}}}
			}
			got := Decide(Snapshot{Offloading: nso.Obj(), RemoteName: "team-c", Clusters: []Cluster{test.cluster}, Now: time.Now()}).Status.RemoteNamespaceConditions
			for i := range got {
				for j := range got[i].Conditions {
					got[i].Conditions[j].LastTransitionTime = metav1.Time{}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestProgress(t *testing.T) {
	begun := Decide(Snapshot{Offloading: builder.Offloading("team").Obj(), RemoteName: "team-c", Clusters: []Cluster{selected("eu"), selected("us")}})
	if begun.Progress {
		t.Error("that it has begun may be held back")
	}
	tests := map[string]struct {
		generation int64
		clusters   []Cluster
		want       bool
	}{
		"a part is there":                       {1, []Cluster{accepted("eu"), selected("us")}, true},
		"a part goes, to be made anew":          {1, []Cluster{going("eu"), selected("us")}, true},
		"what it waits for does not answer":     {1, []Cluster{selected("eu"), silent(selected("us"))}, true},
		"all is there":                          {1, []Cluster{accepted("eu"), accepted("us")}, false},
		"a part has failed":                     {1, []Cluster{failed("eu"), selected("us")}, false},
		"nothing is selected any more":          {1, nil, false},
		"a part of what has been asked for now": {2, []Cluster{accepted("eu"), selected("us")}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			nso := builder.Offloading("team").Generation(test.generation).Status(*begun.Status.DeepCopy()).Obj()
			plan := Decide(Snapshot{Offloading: nso, RemoteName: "team-c", Clusters: test.clusters})
			if plan.Progress != test.want {
				t.Errorf("progress: %v, want %v", plan.Progress, test.want)
			}
		})
	}
}

// TestProgressOfAnEviction checks that the message changes with each pod that leaves a provider.
func TestProgressOfAnEviction(t *testing.T) {
	decide := func(status v1alpha1.NamespaceOffloadingStatus, clusters ...Cluster) Plan {
		nso := builder.Offloading("team").Status(*status.DeepCopy()).Obj()
		return Decide(Snapshot{Offloading: nso, RemoteName: "team-c", Clusters: clusters})
	}
	for name, test := range map[string]struct {
		before, after []Cluster
		want          bool
	}{
		"one of two has left":   {[]Cluster{leaving(withPods(accepted("eu"), "team/a", "team/b"))}, []Cluster{leaving(withPods(accepted("eu"), "team/a"))}, true},
		"the last has left":     {[]Cluster{leaving(withPods(accepted("eu"), "team/a"))}, []Cluster{leaving(accepted("eu"))}, false},
		"pods that need not go": {[]Cluster{withPods(accepted("eu"), "team/a")}, []Cluster{accepted("eu"), leaving(accepted("us"))}, false},
		"they stay where it is": {[]Cluster{accepted("eu")}, []Cluster{withPods(accepted("eu"), "team/a")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			begun := decide(v1alpha1.NamespaceOffloadingStatus{}, test.before...)
			if got := decide(begun.Status, test.after...).Progress; got != test.want {
				t.Errorf("progress: %t", got)
			}
		})
	}
}

func TestProgressOfADeletion(t *testing.T) {
	decide := func(status v1alpha1.NamespaceOffloadingStatus, clusters ...Cluster) Plan {
		nso := builder.Offloading("team").Generation(2).Deleted(0).Status(*status.DeepCopy()).Obj()
		return Decide(Snapshot{Offloading: nso, RemoteName: "team-c", Clusters: clusters, Now: builder.Epoch})
	}
	begun := decide(v1alpha1.NamespaceOffloadingStatus{OffloadingPhase: v1alpha1.OffloadingPhaseReady}, accepted("eu"), accepted("us"))
	if begun.Progress {
		t.Error("that the deletion has begun may be held back")
	}
	tests := map[string]struct {
		clusters []Cluster
		want     bool
	}{
		"a remote namespace is gone":     {[]Cluster{accepted("eu")}, true},
		"one is seen going":              {[]Cluster{going("eu"), accepted("us")}, true},
		"pods are found that have to go": {[]Cluster{withPods(accepted("eu"), "team/a"), accepted("us")}, false},
		"what is left does not answer":   {[]Cluster{silent(accepted("eu"))}, false},
		"a part of it only does not":     {[]Cluster{silent(accepted("eu")), accepted("us")}, true},
		"a provider's time has passed":   {[]Cluster{timeout(silent(accepted("eu")), time.Nanosecond), accepted("us")}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if plan := decide(begun.Status, test.clusters...); plan.Progress != test.want {
				t.Errorf("progress: %v, want %v", plan.Progress, test.want)
			}
		})
	}
}

func TestManyProvidersDoNotMakeTheMessageEndless(t *testing.T) {
	var clusters []Cluster
	for i := range 256 {
		clusters = append(clusters, failed(fmt.Sprintf("provider-%03d", i)))
	}
	plan := Decide(Snapshot{Offloading: builder.Offloading("team").Obj(), Clusters: clusters})
	c := meta.FindStatusCondition(plan.Status.Conditions, v1alpha1.OffloadingReady)
	if n := len([]rune(c.Message)); n > 1024 || !strings.HasPrefix(c.Message, "provider-000: not ours; provider-001") {
		t.Errorf("%d characters: %q", n, c.Message)
	}
}

func TestPodsWithAnEarlierAffinity(t *testing.T) {
	decide := func(status v1alpha1.NamespaceOffloadingStatus, generation int64, names ...string) Plan {
		nso := builder.Offloading("team").Generation(generation).Status(*status.DeepCopy()).Obj()
		return Decide(Snapshot{Offloading: nso, RemoteName: "team-c", Clusters: []Cluster{accepted("eu")}, Outdated: eviction.Remaining{Count: len(names), Names: names}})
	}
	message := func(p Plan) string {
		if c := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.OffloadingPodsCurrent); c != nil {
			return string(c.Status) + ": " + c.Message
		}
		return ""
	}
	const says = "2 pods (team/a, team/b) wait with an outdated node affinity, which is immutable: " +
		"delete them, or restart their workload (kubectl rollout restart)"
	quiet := decide(v1alpha1.NamespaceOffloadingStatus{}, 1)
	begun := decide(quiet.Status, 2, "team/a", "team/b")
	if quiet.Outdated != "" || begun.Outdated != says || begun.Progress || begun.Status.OffloadingPhase != v1alpha1.OffloadingPhaseReady {
		t.Errorf("before: %q; then: %q, progress %v, phase %s", quiet.Outdated, begun.Outdated, begun.Progress, begun.Status.OffloadingPhase)
	}
	if got, want := message(begun), "False: "+says; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	fewer := decide(begun.Status, 2, "team/b")
	if fewer.Outdated != "" || !fewer.Progress || !strings.HasPrefix(message(fewer), "False: 1 pod (team/b) waits with an outdated") {
		t.Errorf("one has gone: event %q, progress %v, %q", fewer.Outdated, fewer.Progress, message(fewer))
	}
	if again := decide(begun.Status, 3, "team/b"); again.Outdated == "" || again.Progress {
		t.Errorf("changed once more: event %q, progress %v", again.Outdated, again.Progress)
	}
	if over := decide(fewer.Status, 2); message(over) != "" {
		t.Errorf("all have gone: %q", message(over))
	}
}
