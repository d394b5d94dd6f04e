package explain

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

func TestExplain(t *testing.T) {
	pod := func(node string, changes ...func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "web", UID: "uid", CreationTimestamp: metav1.NewTime(time.Unix(200, 0))}}
		p.Spec.NodeName, p.Status.Phase = node, corev1.PodPending
		p.Spec.Tolerations = []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}}
		for _, change := range changes {
			change(p)
		}
		return p
	}
	offloading := func(strategy v1alpha1.PodOffloadingStrategy) *v1alpha1.NamespaceOffloading {
		o := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(time.Unix(100, 0))}}
		o.Spec.PodOffloadingStrategy = strategy
		o.Status.RemoteNamespaceConditions = []v1alpha1.RemoteNamespaceStatus{{Cluster: "eu", RemoteNamespace: "team-a-home", Conditions: []metav1.Condition{
			conditions.New("OffloadingRequired", "True", "ClusterSelected", ""), conditions.New("Ready", "False", "NameConflict", "it is somebody's"),
		}}}
		return o
	}
	away := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}
	away.Status.Conditions = []metav1.Condition{conditions.New("Ready", "False", "Unreachable", "no answer")}
	unscheduled := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "no room"}}
	}
	started := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Annotations = map[string]string{
			v1alpha1.AnnotationRemoteUID: "r", v1alpha1.AnnotationRemoteFor: "uid", v1alpha1.AnnotationRemoteName: "web", v1alpha1.AnnotationRemoteNamespace: "team-a-home", v1alpha1.AnnotationRemoteIP: "10.0.0.1",
		}
		p.Status.Conditions = []corev1.PodCondition{{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionTrue, Reason: "Offloaded", Message: "without the toleration a"}}
	}
	copied := func(p *corev1.Pod) { started(p); p.UID = "another" }
	intolerant := func(p *corev1.Pod) { p.Spec.Tolerations = nil }
	early := func(p *corev1.Pod) { intolerant(p); p.CreationTimestamp = metav1.NewTime(time.Unix(50, 0)) }
	daemon := func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet"}} }
	ordinary := &corev1.Node{}
	told := []corev1.Event{{Reason: "Rejected", Message: "no", ReportingController: "spillway-syncer"}, {Reason: "Scheduled", ReportingController: "default-scheduler"}}
	tests := map[string]struct {
		seen     Seen
		want     []string
		provider string
		remote   string
		without  []string
	}{
		"not offloaded":                {Seen{Pod: pod("")}, []string{"it has no node yet", "namespace team-a is not offloaded", "kubectl spillway offload team-a"}, "", "", nil},
		"waits for a node":             {Seen{Pod: pod("", unscheduled), Offloading: offloading(v1alpha1.PodsRemote)}, []string{"says Remote", "Unschedulable: no room", "namespace team-a-home in eu NameConflict: it is somebody's"}, "", "", nil},
		"created before":               {Seen{Pod: pod("n", early), Node: ordinary, Offloading: offloading(v1alpha1.PodsRemote)}, []string{"on node n of this cluster", "created before the namespace was offloaded"}, "", "", []string{"NameConflict"}},
		"without a toleration":         {Seen{Pod: pod("n", intolerant), Node: ordinary, Offloading: offloading(v1alpha1.PodsRemote)}, []string{"did not apply the policy"}, "", "", nil},
		"of a DaemonSet":               {Seen{Pod: pod("n", daemon), Node: ordinary, Offloading: offloading(v1alpha1.PodsLocalAndRemote)}, []string{"a pod of a DaemonSet", "the scheduler chooses"}, "", "", nil},
		"here, first":                  {Seen{Pod: pod("n"), Node: ordinary, Offloading: offloading(v1alpha1.PodsLocalFirst)}, []string{"when there is no room"}, "", "", []string{"toleration"}},
		"here, always":                 {Seen{Pod: pod("n", intolerant), Node: ordinary, Offloading: offloading(v1alpha1.PodsLocal)}, []string{"pods run here"}, "", "", []string{"toleration"}},
		"not started there":            {Seen{Pod: pod("spillway-eu"), Offloading: offloading(v1alpha1.PodsRemote), Binding: away}, []string{"the provider eu", "not started there yet", "ClusterBinding eu Unreachable: no answer", "NameConflict"}, "eu", "", nil},
		"started":                      {Seen{Pod: pod("spillway-eu", started), Offloading: offloading(v1alpha1.PodsRemote)}, []string{"pod team-a-home/web, with the address 10.0.0.1", "left out in the provider:\n  - without the toleration a"}, "eu", "team-a-home/web", []string{"not started"}},
		"made from another's manifest": {Seen{Pod: pod("spillway-eu", copied)}, []string{"not started there yet"}, "eu", "", nil},
		"what was told":                {Seen{Pod: pod("spillway-eu"), Events: told}, []string{"Rejected: no"}, "eu", "", []string{"Scheduled"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Explain(test.seen)
			text := Text(got)
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q is missing in:\n%s", want, text)
				}
			}
			for _, without := range test.without {
				if strings.Contains(text, without) {
					t.Errorf("%q is in:\n%s", without, text)
				}
			}
			if got.Provider != test.provider || got.Remote != test.remote {
				t.Errorf("it is in %q as %q", got.Provider, got.Remote)
			}
		})
	}
}
