package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return conditions.New(kind, status, reason, message)
}

// world has a provider that is well, one that is away, a namespace in both, and one that
// waits for a node.
func world() Seen {
	eu := v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}
	eu.Spec.ClusterID, eu.Status.KubernetesVersion = "eu", "v1.36.3"
	eu.Status.Conditions = []metav1.Condition{
		condition("Ready", "True", "Ready", ""), condition("CredentialsValid", "True", "ExpiresSoon", "on Friday"),
		condition("Connected", "True", "Connected", ""), condition("Network", "False", "NotRouted", "no route"),
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
	return Seen{
		Available: true, Bindings: []v1alpha1.ClusterBinding{eu, us}, Nodes: []corev1.Node{node}, Offloadings: []v1alpha1.NamespaceOffloading{offloading},
		Pods: []corev1.Pod{
			pod("web", "spillway-eu", corev1.PodRunning), pod("job", "spillway-eu", corev1.PodSucceeded),
			pod("lost", "spillway-eu", corev1.PodPending, corev1.PodCondition{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: "ReferenceNotFound", Message: "Secret a"}),
			pod("big", "", corev1.PodPending, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no room"}),
			pod("old", "", corev1.PodFailed),
		},
	}
}

func TestText(t *testing.T) {
	tests := map[string]struct {
		seen Seen
		all  bool
		want string
	}{
		"nothing": {Seen{Waits: "no image", Hidden: []string{"Nodes"}}, false, `manager: not available: no image
no provider is bound: kubectl spillway bind NAME --provider-context CONTEXT
you may not read Nodes, so these are not shown
`},
		"a world": {world(), false, `manager: available
eu: Ready, v1.36.3
├─ CredentialsValid ExpiresSoon: on Friday
├─ node spillway-eu: Ready, 4 cpu, 110 pods
└─ namespace team-a, there team-a-home: 2 of 3 pods run, or have ended well
   └─ pod lost: Pending; spillway.io/Offloaded ReferenceNotFound: Secret a
us: Unreachable
├─ Connected Unreachable: no answer
└─ namespace team-a, there team-a-home
   └─ ProviderUnreachable
waiting in this cluster:
└─ namespace team-a: 0 of 1 pods run, or have ended well
   ├─ Ready InProgress: us is away
   └─ pod big: Pending; Unschedulable: no room
`},
		"all pods": {Seen{Available: true, Bindings: world().Bindings[:1], Pods: world().Pods[:1]}, true, `manager: available
eu: Ready, v1.36.3
├─ CredentialsValid ExpiresSoon: on Friday
└─ namespace team-a: 1 of 1 pods run, or have ended well
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
	pod := func(phase corev1.PodPhase, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{Status: corev1.PodStatus{Phase: phase}}
		if change != nil {
			change(p)
		}
		return p
	}
	tests := map[string]struct {
		pod  *corev1.Pod
		want []string
	}{
		"runs":     {pod(corev1.PodRunning, nil), nil},
		"ended":    {pod(corev1.PodSucceeded, nil), nil},
		"starting": {pod(corev1.PodPending, nil), []string{"Starting: its containers are being started"}},
		"lost":     {pod(corev1.PodFailed, func(p *corev1.Pod) { p.Status.Reason = "RemotePodLost" }), []string{"RemotePodLost"}},
		"failed":   {pod(corev1.PodFailed, nil), []string{"Failed"}},
		"deleted":  {pod(corev1.PodRunning, func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }), []string{"Deleting: it is being deleted"}},
		"not ready": {pod(corev1.PodRunning, func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: "ContainersNotReady", Message: "c"}}
		}), []string{"ContainersNotReady: c"}},
		"no image": {pod(corev1.PodPending, func(p *corev1.Pod) {
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "gone: away"}}}}
		}), []string{"ErrImagePull: gone: away"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, wait := range WaitsOf(test.pod) {
				got = append(got, wait.String())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
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
