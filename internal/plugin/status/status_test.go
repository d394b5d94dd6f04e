package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/admission"
)

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return conditions.New(kind, status, reason, message)
}

// world has a provider that works, one that is away, a namespace in both, and a pod that waits for a node.
func world() Seen {
	eu := v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}
	eu.Spec.ClusterID, eu.Status.KubernetesVersion = "eu", "v1.36.3"
	eu.Status.Conditions = []metav1.Condition{
		condition("Ready", "True", "Ready", ""), condition("CredentialsValid", "True", "ExpiresSoon", "on Friday"),
		condition("Connected", "True", "Connected", ""), condition("Network", "False", "CIDROverlap", "both have 10.1.0.0/16"),
	}
	us := v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "us"}}
	us.Spec.ClusterID = "us"
	us.Status.Conditions = []metav1.Condition{condition("Ready", "False", "Unreachable", "no answer"), condition("Connected", "False", "Unreachable", "no answer")}
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "spillway-eu"}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("110")}
	remote := func(cluster string, ready metav1.ConditionStatus, reason string) v1alpha1.RemoteNamespaceStatus {
		return v1alpha1.RemoteNamespaceStatus{Cluster: cluster, RemoteNamespace: "team-a-home", Conditions: []metav1.Condition{
			condition("OffloadingRequired", "True", "ClusterSelected", ""), condition("Ready", ready, reason, ""),
		}}
	}
	offloading := v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a"}}
	offloading.Status.Conditions = []metav1.Condition{condition("Ready", "False", "InProgress", "us is away")}
	offloading.Status.RemoteNamespaceConditions = []v1alpha1.RemoteNamespaceStatus{remote("eu", "True", "NamespaceActive"), remote("us", "False", "ProviderUnreachable")}
	pod := func(name, node string, phase corev1.PodPhase, all ...corev1.PodCondition) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name}, Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: phase, Conditions: all}}
	}
	big := pod("big", "", corev1.PodPending, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no room"})
	big.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{admission.OnVirtual}}},
	}}}
	return Seen{
		Available: true, Bindings: []v1alpha1.ClusterBinding{eu, us}, Nodes: []corev1.Node{node}, Offloadings: []v1alpha1.NamespaceOffloading{offloading},
		Pods: []corev1.Pod{
			pod("web", "spillway-eu", corev1.PodRunning), pod("job", "spillway-eu", corev1.PodSucceeded),
			pod("lost", "spillway-eu", corev1.PodPending, corev1.PodCondition{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: "ReferenceNotFound", Message: "Secret a"}),
			big, pod("old", "", corev1.PodFailed),
		},
	}
}

// ordered has the tiers here, eu and us.
func ordered() []v1alpha1.NamespaceOffloading {
	all := world().Offloadings
	all[0].Spec.Overflow = []v1alpha1.OverflowTier{{Local: true}, {}, {}}
	all[0].Status.Overflow = []v1alpha1.OverflowTierStatus{{}, {Clusters: []string{"eu"}}, {Clusters: []string{"us"}}}
	return all
}

// here has the tiers here, eu and us, and is Ready in no provider.
func here() []v1alpha1.NamespaceOffloading {
	all := ordered()
	all[0].Status.Conditions, all[0].Status.RemoteNamespaceConditions = []metav1.Condition{condition("Ready", "True", "Ready", "")}, nil
	return all
}

// overflowed is a pod that runs in tier 2, if it has a node.
func overflowed(name, node string) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name}}
	if pod.Spec.NodeName = node; node != "" {
		pod.Status.Phase = corev1.PodRunning
		pod.Annotations = map[string]string{v1alpha1.AnnotationOverflow: "2=2026-01-02T03:04:05Z"}
		pod.Spec.Tolerations = []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Value: "us"}}
	}
	return pod
}

// away has a provider that has answered until some time, with a node and a pod that look well.
func away() Seen {
	seen := Seen{Available: true, Bindings: world().Bindings[1:], Nodes: world().Nodes, Offloadings: ordered(), Pods: []corev1.Pod{overflowed("web", "spillway-us")}}
	seen.Bindings[0].Status.LastHeartbeatTime = &metav1.Time{Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	seen.Nodes[0].Name, seen.Nodes[0].Status.Allocatable = "spillway-us", nil
	return seen
}

func TestText(t *testing.T) {
	tests := map[string]struct {
		seen Seen
		all  bool
		want string
	}{
		"nothing": {Seen{Waits: "no image", Hidden: []string{Nodes}}, false, `manager: not available: no image
no provider is bound: kubectl spillway bind NAME --provider-context CONTEXT
not shown, because you may not read it: Nodes
`},
		"nothing may be read": {Seen{Hidden: []string{Bindings, Offloadings, Nodes, Pods, ManagerParts}}, false,
			`not shown, because you may not read it: ClusterBindings, NamespaceOffloadings, Nodes, Pods, the Deployment, Pods and Lease of the manager; -n NAMESPACE shows what you may read of one namespace
`},
		"a team": {Seen{Namespace: "team-a", Offloadings: world().Offloadings, Pods: world().Pods[:3], Hidden: []string{Bindings, Nodes, ManagerParts}}, false, `provider eu
└─ namespace team-a, remote team-a-home: 2 of 3 pods run, or have succeeded
   └─ pod lost: Pending; spillway.io/Offloaded ReferenceNotFound: Secret a
provider us
└─ namespace team-a, remote team-a-home
   └─ ProviderUnreachable
waiting in this cluster:
└─ namespace team-a
   └─ Ready InProgress: us is away
not shown, because you may not read it: ClusterBindings, Nodes, the Deployment, Pods and Lease of the manager
`},
		"quotas": {Seen{Available: true, Bindings: []v1alpha1.ClusterBinding{{ObjectMeta: metav1.ObjectMeta{Name: "eu"}, Status: v1alpha1.ClusterBindingStatus{Quota: []v1alpha1.QuotaStatus{
			{Name: "team-a", Hard: corev1.ResourceList{"cpu": resource.MustParse("10"), "pods": resource.MustParse("4")}, Used: corev1.ResourceList{"cpu": resource.MustParse("1500m"), "pods": resource.MustParse("5")}, Over: []string{"pods"}},
		}}}}}, false, `manager: available
eu: not Ready
├─ NotSeen: the manager has not seen it yet
└─ quota team-a: 1500m of 10 cpu, 5 of 4 pods (over)
`},
		"away": {away(), false, `manager: available
us: Unreachable
├─ Connected Unreachable: no answer
├─ node spillway-us: Ready, as last known at 2026-01-02T03:04:05Z
└─ namespace team-a, remote team-a-home, tier 2: 1 of 1 pods run, or have succeeded, as last known at 2026-01-02T03:04:05Z
   └─ ProviderUnreachable
waiting in this cluster:
└─ namespace team-a
   └─ Ready InProgress: us is away
`},
		"groups of nodes": {Seen{Available: true, Bindings: world().Bindings[1:2], Nodes: []corev1.Node{
			{ObjectMeta: metav1.ObjectMeta{Name: "spillway-us.a-1", Labels: map[string]string{v1alpha1.LabelCluster: "us", v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual}}, Spec: corev1.NodeSpec{Unschedulable: true}},
			{ObjectMeta: metav1.ObjectMeta{Name: "spillway-us-a", Labels: map[string]string{v1alpha1.LabelCluster: "us-a", v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual}}},
		}, Pods: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "team-z", Name: "p"}, Spec: corev1.PodSpec{NodeName: "spillway-us.a-1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}}}, false, `manager: available
us: Unreachable
├─ Connected Unreachable: no answer
├─ node spillway-us.a-1: NotReady, cordoned
└─ namespace team-z, which is not offloaded there: 1 of 1 pods run, or have succeeded
`},
		"taken back": {Seen{Available: true, Bindings: world().Bindings[:1], Pods: world().Pods[1:4]}, false, `manager: available
eu: Ready, v1.36.3
├─ CredentialsValid ExpiresSoon: on Friday
├─ Network CIDROverlap: both have 10.1.0.0/16
└─ namespace team-a, which is not offloaded there: 1 of 2 pods run, or have succeeded
   └─ pod lost: Pending; spillway.io/Offloaded ReferenceNotFound: Secret a
waiting in this cluster:
└─ namespace team-a, which is not offloaded: 0 of 1 pods run, or have succeeded
   └─ pod big: Pending; PodStranded: it can run only on virtual nodes: delete and recreate it; Unschedulable: no room
`},
		"taken back, for a team": {Seen{Namespace: "team-a", Pods: world().Pods[3:4], Hidden: []string{Bindings}}, false, `manager: not available: 
waiting in this cluster:
└─ namespace team-a, which is not offloaded: 0 of 1 pods run, or have succeeded
   └─ pod big: Pending; PodStranded: it can run only on virtual nodes: delete and recreate it, unless a provider has a mountNamespace; Unschedulable: no room
not shown, because you may not read it: ClusterBindings
`},
		"told by an event": {Seen{Offloadings: world().Offloadings, Pods: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "db-0", UID: "db"}}}, Hidden: []string{Bindings, ManagerParts}, Events: []corev1.Event{
			{Type: "Warning", Reason: "ClaimNotBound", Message: "no volume", ReportingController: "spillway-unscheduledpod", InvolvedObject: corev1.ObjectReference{UID: "db"}}, {Type: "Warning", Reason: "ClaimNotBound", Message: "another's", ReportingController: "spillway-unscheduledpod"},
		}}, false, `provider eu
└─ namespace team-a, remote team-a-home
provider us
└─ namespace team-a, remote team-a-home
   └─ ProviderUnreachable
waiting in this cluster:
└─ namespace team-a: 0 of 1 pods run, or have succeeded
   ├─ Ready InProgress: us is away
   └─ pod db-0: Pending; NotScheduled: the scheduler has not chosen a node for it yet: ClaimNotBound: no volume
not shown, because you may not read it: ClusterBindings, the Deployment, Pods and Lease of the manager
`},
		"a world": {world(), false, `manager: available
eu: Ready, v1.36.3
├─ CredentialsValid ExpiresSoon: on Friday
├─ Network CIDROverlap: both have 10.1.0.0/16
├─ node spillway-eu: Ready, 4 cpu, 110 pods
└─ namespace team-a, remote team-a-home: 2 of 3 pods run, or have succeeded
   └─ pod lost: Pending; spillway.io/Offloaded ReferenceNotFound: Secret a
us: Unreachable
├─ Connected Unreachable: no answer
└─ namespace team-a, remote team-a-home
   └─ ProviderUnreachable
waiting in this cluster:
└─ namespace team-a: 0 of 1 pods run, or have succeeded
   ├─ Ready InProgress: us is away
   └─ pod big: Pending; Unschedulable: no room
`},
		"tiers": {Seen{Available: true, Hidden: []string{Bindings}, Offloadings: ordered(), Pods: []corev1.Pod{overflowed("web", "spillway-us"), overflowed("late", "")}}, true, `manager: available
provider eu
└─ namespace team-a, remote team-a-home, tier 1
provider us
└─ namespace team-a, remote team-a-home, tier 2: 1 of 1 pods run, or have succeeded
   ├─ ProviderUnreachable
   └─ pod web: Running; tried tier 0 (this cluster), then tier 2 (us) at 2026-01-02T03:04:05Z; skipped tier 1 (eu): none of its providers could take the pod then
waiting in this cluster:
└─ namespace team-a: 0 of 1 pods run, or have succeeded
   ├─ Ready InProgress: us is away
   └─ pod late: Pending; NotScheduled: the scheduler has not chosen a node for it yet; tried tier 0 (this cluster); not yet tier 1 (eu), tier 2 (us)
not shown, because you may not read it: ClusterBindings
`},
		"pods here, counted": {Seen{Available: true, Hidden: []string{Bindings}, Offloadings: here(), Local: []corev1.Pod{overflowed("web", "own"), overflowed("late", "own")}}, false, `manager: available
on this cluster's own nodes:
└─ namespace team-a, tier 0: 2 of 2 pods run, or have succeeded
not shown, because you may not read it: ClusterBindings
`},
		"pods here, listed": {Seen{Available: true, Hidden: []string{Bindings}, Offloadings: here()[:1], Local: []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web"}, Spec: corev1.PodSpec{NodeName: "own"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}}}, true, `manager: available
on this cluster's own nodes:
└─ namespace team-a, tier 0: 1 of 1 pods run, or have succeeded
   └─ pod web: Running
not shown, because you may not read it: ClusterBindings
`},
		"all pods": {Seen{Available: true, Bindings: world().Bindings[:1], Pods: world().Pods[:1]}, true, `manager: available
eu: Ready, v1.36.3
├─ CredentialsValid ExpiresSoon: on Friday
├─ Network CIDROverlap: both have 10.1.0.0/16
└─ namespace team-a, which is not offloaded there: 1 of 1 pods run, or have succeeded
   └─ pod web: Running
`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Text(Tree(test.seen), test.all)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWaitsOf(t *testing.T) {
	pod := func(phase corev1.PodPhase, changes ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "uid"}, Spec: corev1.PodSpec{NodeName: "spillway-eu"}, Status: corev1.PodStatus{Phase: phase}}
		for _, change := range changes {
			change(p)
		}
		return p
	}
	on := func(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
	sent := func(p *corev1.Pod) {
		p.Annotations = map[string]string{v1alpha1.AnnotationRemoteUID: "r", v1alpha1.AnnotationRemoteFor: "uid"}
	}
	started := func(p *corev1.Pod) { sent(p); p.Status.StartTime = &metav1.Time{} }
	failed := func(name string, code int32, at int64, message string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.ContainerStatuses = append(p.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, Message: message, FinishedAt: metav1.Unix(at, 0),
			}}})
		}
	}
	drained := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "evicting", LastTransitionTime: metav1.Unix(5, 0),
		}}
	}
	warning := func(component, reason, message string, at int64) corev1.Event {
		return corev1.Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message, ReportingController: component, LastTimestamp: metav1.Unix(at, 0)}
	}
	told := []corev1.Event{
		warning("default-scheduler", "FailedScheduling", "no room here", 1), warning("spillway", "FailedScheduling", "no room there", 4),
		warning("spillway", "FailedMount", "no volume there", 3), warning("kubelet", "FailedMount", "no volume here", 2), {Reason: "Pulled", LastTimestamp: metav1.Unix(9, 0)},
	}
	tests := map[string]struct {
		pod  *corev1.Pod
		told []corev1.Event
		want []string
	}{
		"runs":                    {pod(corev1.PodRunning), told, nil},
		"ended":                   {pod(corev1.PodSucceeded), told, nil},
		"nobody has looked at it": {pod(corev1.PodPending, on("")), nil, []string{"NotScheduled: the scheduler has not chosen a node for it yet"}},
		"told by an event":        {pod(corev1.PodPending, on("")), told[:1], []string{"NotScheduled: the scheduler has not chosen a node for it yet: FailedScheduling: no room here"}},
		"told by Spillway":        {pod(corev1.PodPending, on("")), []corev1.Event{warning("spillway-unscheduledpod", "ClaimNotBound", "no volume", 1), {Reason: "OffloadedLate", Source: corev1.EventSource{Component: "spillway-unscheduledpod"}, LastTimestamp: metav1.Unix(2, 0)}}, []string{"NotScheduled: the scheduler has not chosen a node for it yet: ClaimNotBound: no volume"}},
		"told by a condition": {pod(corev1.PodPending, on(""), func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no room"}}
		}), told, []string{"Unschedulable: no room"}},
		"no room there":          {pod(corev1.PodPending), told[:2], []string{"NotStarted: no node of the provider has started it yet: FailedScheduling: no room there"}},
		"nothing came back yet":  {pod(corev1.PodPending), told[:1], []string{"NotStarted: no node of the provider has started it yet"}},
		"without a node there":   {pod(corev1.PodPending, sent), told, []string{"NotStarted: no node of the provider has started it yet: FailedScheduling: no room there"}},
		"starts there":           {pod(corev1.PodPending, started), told, []string{"Starting: its containers are starting: FailedMount: no volume there"}},
		"not started here":       {pod(corev1.PodPending, on("own")), told, []string{"NotStarted: its node has not started it yet: FailedMount: no volume here"}},
		"starts here":            {pod(corev1.PodPending, started, on("own")), nil, []string{"Starting: its containers are starting"}},
		"lost":                   {pod(corev1.PodFailed, failed("a", 137, 1, "gone"), func(p *corev1.Pod) { p.Status.Reason, p.Status.Message = "RemotePodLost", "gone" }), told, []string{"RemotePodLost: gone"}},
		"failed":                 {pod(corev1.PodFailed), told, nil},
		"a container has failed": {pod(corev1.PodFailed, failed("a", 0, 1, ""), failed("b", 143, 3, ""), failed("c", 3, 2, "no\x1b[2J\ntoken\n")), nil, []string{"container c Error: exit code 3: no [2J token"}},
		"it took too long":       {pod(corev1.PodFailed, failed("a", 143, 1, ""), func(p *corev1.Pod) { p.Status.Reason = "DeadlineExceeded" }), nil, []string{"DeadlineExceeded", "container a Error: exit code 143"}},
		"drained, ended well":    {pod(corev1.PodSucceeded, drained, failed("a", 0, 5, "")), nil, []string{"DisruptionTarget EvictionByEvictionAPI: evicting"}},
		"drained":                {pod(corev1.PodFailed, drained, failed("a", 143, 6, "")), nil, []string{"DisruptionTarget EvictionByEvictionAPI: evicting", "container a Error: exit code 143"}},
		"had ended, and drained": {pod(corev1.PodSucceeded, drained, failed("a", 0, 4, "")), nil, nil},
		"deleted":                {pod(corev1.PodRunning, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }), nil, []string{"Deleting: it is being deleted"}},
		"not ready": {pod(corev1.PodRunning, func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady", Message: "c"}}
		}), nil, []string{"ContainersNotReady: c"}},
		"no image": {pod(corev1.PodPending, func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "gone: away"}}}}
		}), nil, []string{"ErrImagePull: gone: away"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, wait := range WaitsOf(test.pod, test.told...) {
				got = append(got, wait.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if test.pod.Status.Phase == corev1.PodSucceeded && PodOf(test.pod).Runs != (test.want == nil) {
				t.Errorf("it has ended well: %v", test.want != nil)
			}
		})
	}
}

func TestNotSeen(t *testing.T) {
	binding := v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu", Generation: 2}}
	if got := Tree(Seen{Bindings: []v1alpha1.ClusterBinding{binding}}).Bindings[0]; got.Ready || got.Waits[0].Reason != "NotSeen" {
		t.Errorf("got %+v", got)
	}
}

// TestTerminating: a pod that is being deleted does not count as running, so it does not say so.
func TestTerminating(t *testing.T) {
	pod := Pod{Name: "web", Phase: "Running", Waits: []Wait{leaves, {Reason: "NotReady"}}}
	if got, want := pod.text(), "pod web: Terminating; NotReady"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
