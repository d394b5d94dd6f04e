package offload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

func TestOffloading(t *testing.T) {
	type requirement = v1alpha1.ClusterSelectorRequirement
	there := &v1alpha1.NamespaceOffloading{Spec: v1alpha1.NamespaceOffloadingSpec{
		PodOffloadingStrategy: v1alpha1.PodsRemote, NamespaceMappingStrategy: v1alpha1.MappingDefaultName, Resources: []v1alpha1.OffloadedResource{v1alpha1.OffloadedServices},
		ClusterSelector: &v1alpha1.ClusterSelector{},
	}}
	selector := func(all ...requirement) *v1alpha1.ClusterSelector {
		return &v1alpha1.ClusterSelector{NodeSelectorTerms: []v1alpha1.ClusterSelectorTerm{{MatchExpressions: all}}}
	}
	tests := map[string]struct {
		wanted Wanted
		there  *v1alpha1.NamespaceOffloading
		want   v1alpha1.NamespaceOffloadingSpec
	}{
		"no flags":           {Wanted{}, nil, v1alpha1.NamespaceOffloadingSpec{}},
		"what is there":      {Wanted{}, there, there.Spec},
		"a strategy":         {Wanted{Strategy: "Local"}, nil, v1alpha1.NamespaceOffloadingSpec{PodOffloadingStrategy: v1alpha1.PodsLocal}},
		"a name":             {Wanted{RemoteName: "x"}, nil, v1alpha1.NamespaceOffloadingSpec{RemoteNamespaceName: "x", NamespaceMappingStrategy: v1alpha1.MappingSelectedName}},
		"no Services either": {Wanted{Resources: []string{}}, nil, v1alpha1.NamespaceOffloadingSpec{Resources: []v1alpha1.OffloadedResource{}}},
		"clusters and labels": {Wanted{Clusters: []string{"eu", "us"}, Selector: "a=b,c notin (e,d),f,!g,h>1"}, nil, v1alpha1.NamespaceOffloadingSpec{ClusterSelector: selector(
			requirement{Key: "spillway.io/cluster", Operator: "In", Values: []string{"eu", "us"}},
			requirement{Key: "a", Operator: "In", Values: []string{"b"}}, requirement{Key: "c", Operator: "NotIn", Values: []string{"d", "e"}},
			requirement{Key: "f", Operator: "Exists"}, requirement{Key: "g", Operator: "DoesNotExist"}, requirement{Key: "h", Operator: "Gt", Values: []string{"1"}},
		)}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := test.wanted.offloading(test.there)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got.Spec); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
	if _, err := (Wanted{Selector: "a in b"}).offloading(nil); err == nil {
		t.Error("a selector that is none is taken")
	}
}

func TestUnbound(t *testing.T) {
	bindings := []v1alpha1.ClusterBinding{{Spec: v1alpha1.ClusterBindingSpec{ClusterID: "eu"}}, {ObjectMeta: metav1.ObjectMeta{Name: "us"}, Spec: v1alpha1.ClusterBindingSpec{ClusterID: "other"}}}
	if diff := cmp.Diff([]string{"us"}, unbound([]string{"eu", "us"}, bindings)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestReady: a remote namespace that is going to be deleted is not ready, although the offloading is.
func TestReady(t *testing.T) {
	entry := func(cluster string, required, ready metav1.ConditionStatus) v1alpha1.RemoteNamespaceStatus {
		return v1alpha1.RemoteNamespaceStatus{Cluster: cluster, RemoteNamespace: "team-home", Conditions: []metav1.Condition{
			conditions.New(v1alpha1.RemoteNamespaceRequired, required, "R", ""), conditions.New(v1alpha1.RemoteNamespaceReady, ready, "R", ""),
		}}
	}
	offloading := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: "team"}}
	offloading.Status.RemoteNamespaceConditions = []v1alpha1.RemoteNamespaceStatus{
		entry("eu", metav1.ConditionTrue, metav1.ConditionTrue), entry("goes", metav1.ConditionFalse, metav1.ConditionFalse),
		entry("stays a while", metav1.ConditionFalse, metav1.ConditionTrue), entry("us", metav1.ConditionTrue, metav1.ConditionFalse),
	}
	want := []cli.Step{{Cluster: "consumer", Object: object, Namespace: "team", Action: "ready", Message: "it is namespace team-home in eu"}}
	if diff := cmp.Diff(want, ready(offloading)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestLeaving: what happens to pods when their namespace is taken back.
func TestLeaving(t *testing.T) {
	pod := func(name, owner string, virtual bool) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(name), CreationTimestamp: metav1.Now()}}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: owner, Controller: ptr.To(true)}}
		}
		if virtual {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: v1alpha1.LabelNodeType, Operator: corev1.NodeSelectorOpIn, Values: []string{v1alpha1.NodeTypeVirtual}}},
			}}}}}
		}
		return p
	}
	pods := []corev1.Pod{pod("web", "ReplicaSet", true), pod("bare", "", true), pod("here", "ReplicaSet", false), pod("gone", "", true), pod("agent", "DaemonSet", true)}
	pods[3].DeletionTimestamp = ptr.To(metav1.Now())
	runs := func(name, owner, node string) corev1.Pod {
		p := pod(name, owner, false)
		p.Spec.NodeName = node
		return p
	}
	pods = append(pods, runs("lost", "", "spillway-eu"), runs("set", "StatefulSet", "spillway-eu"), runs("daemon", "DaemonSet", "spillway-eu"), runs("own", "", "own"), runs("ended", "", "spillway-eu"))
	pods[len(pods)-1].Status.Phase = corev1.PodSucceeded
	evicted := Evicted(pods, &v1alpha1.NamespaceOffloading{})
	var names []string
	for i := range evicted {
		names = append(names, evicted[i].Name)
	}
	if diff := cmp.Diff([]string{"web", "lost", "set"}, names); diff != "" {
		t.Errorf("evicted: -want +got:\n%s", diff)
	}
	if got := Stranded(pods, evicted, placement.Index{}).String(); got != "1 pod (team/bare)" {
		t.Errorf("stranded: %s", got)
	}
	if got := Stranded(pods, nil, placement.Index{}).String(); got != "2 pods (team/bare, team/web)" {
		t.Errorf("if it was not evicted: %s", got)
	}
	mounts := v1alpha1.ClusterBinding{Spec: v1alpha1.ClusterBindingSpec{ClusterID: "eu", MountNamespace: "mounted"}}
	if got := Stranded(pods, nil, placement.NewIndex([]v1alpha1.ClusterBinding{mounts})); got.Count > 0 {
		t.Errorf("with a mountNamespace: %s", got)
	}
}

// TestRemoved: a namespace that does not exist, or is not ours, is not deleted.
func TestRemoved(t *testing.T) {
	offloading := &v1alpha1.NamespaceOffloading{}
	for cluster, ready := range map[string]metav1.ConditionStatus{"eu": metav1.ConditionTrue, "us": metav1.ConditionFalse} {
		offloading.Status.RemoteNamespaceConditions = append(offloading.Status.RemoteNamespaceConditions, v1alpha1.RemoteNamespaceStatus{
			Cluster: cluster, RemoteNamespace: "team-home", Conditions: []metav1.Condition{conditions.New(v1alpha1.RemoteNamespaceReady, ready, "R", "")},
		})
	}
	want := []cli.Step{{Cluster: "provider", Object: "namespace/team-home", Action: "deleted", Message: "with everything in it, in eu"}}
	if diff := cmp.Diff(want, removed(offloading)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
