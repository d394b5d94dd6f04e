package unbind

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// claimed is a claim with a volume of a provider.
func claimed(namespace, name, cluster, owner string) corev1.PersistentVolumeClaim {
	c := corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name)}}
	c.Spec.VolumeName = field.VolumeName(cluster, c.UID)
	if owner != "" {
		c.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Controller: ptr.To(true)}}
	}
	return c
}

// TestKeepVolumes: a dry run does not say that data is deleted which the manager keeps.
func TestKeepVolumes(t *testing.T) {
	const keeps = "in eu, until somebody decides about the volumes of its claims data-0, data-1: docs/operations.md, volumes that a provider creates"
	set := claimed("team", "data-1", "eu", "StatefulSet")
	for name, test := range map[string]struct {
		claims Volumes
		loses  string
		kept   bool
	}{
		"with data":         {Volumes{claimed("team", "data-0", "eu", ""), set, claimed("team", "cache", "eu", "Pod")}, "", true},
		"which may be lost": {Volumes{claimed("team", "data-0", "eu", ""), set}, v1alpha1.LoseVolumes, false},
		"of pods":           {Volumes{claimed("team", "cache", "eu", "Pod")}, "", false},
		"elsewhere":         {Volumes{claimed("team", "data-0", "us", ""), claimed("other", "data-0", "eu", "")}, "", false},
	} {
		binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.AnnotationLoseVolumes: test.loses}}}
		binding.Spec.ClusterID = "eu"
		namespaces := &v1alpha1.NamespaceMap{}
		namespaces.Status.CurrentMapping = []v1alpha1.CurrentMapping{{Namespace: "team", RemoteNamespace: "team-home"}}
		steps := []cli.Step{{Object: "pod/team-home", Action: evicted}, Removal("team-home", "eu")}
		keepVolumes(steps, binding, namespaces, test.claims)
		want := Removal("team-home", "eu")
		if test.kept {
			want.Action, want.Message = kept, keeps
		}
		if steps[0].Action != evicted || steps[1] != want {
			t.Errorf("%s: got %+v", name, steps)
		}
	}
}

// TestTied: the pods that replace those of a namespace that is offloaded to more providers now go there, unless their volume
// is here.
func TestTied(t *testing.T) {
	node := func(cluster string) corev1.Node {
		return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.VirtualNodePrefix + cluster, Labels: map[string]string{v1alpha1.LabelCluster: cluster, v1alpha1.LabelNodeType: v1alpha1.NodeTypeVirtual}}}
	}
	pod := func(change func(*corev1.Pod)) corev1.Pod {
		p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", OwnerReferences: []metav1.OwnerReference{{Kind: "StatefulSet", Controller: ptr.To(true)}}}}
		p.Spec.Tolerations = []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Value: "eu"}}
		change(&p)
		return p
	}
	in := corev1.NodeSelectorRequirement{Key: v1alpha1.LabelCluster, Operator: corev1.NodeSelectorOpIn, Values: []string{"eu"}}
	requires := func(requirements ...corev1.NodeSelectorRequirement) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: requirements}},
			}}}
		}
	}
	created := requires(admission.OnVirtual, in)
	selects := func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{v1alpha1.LabelCluster: "eu"} }
	mounts := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}}}
	}
	both := v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: "team"}}
	for _, cluster := range []string{"eu", "us"} {
		both.Status.RemoteNamespaceConditions = append(both.Status.RemoteNamespaceConditions, v1alpha1.RemoteNamespaceStatus{Cluster: cluster, Conditions: []metav1.Condition{
			conditions.New(v1alpha1.RemoteNamespaceRequired, "True", "ClusterSelected", ""),
		}})
	}
	for name, test := range map[string]struct {
		change func(*corev1.Pod)
		now    []v1alpha1.NamespaceOffloading
		tied   bool
	}{
		"as it was created":        {created, nil, true},
		"offloaded to both since":  {created, []v1alpha1.NamespaceOffloading{both}, false},
		"it requires the node":     {requires(in, admission.OnVirtual), []v1alpha1.NamespaceOffloading{both}, true},
		"it requires any of both":  {requires(corev1.NodeSelectorRequirement{Key: v1alpha1.LabelCluster, Operator: corev1.NodeSelectorOpExists}, admission.OnVirtual, in), []v1alpha1.NamespaceOffloading{both}, false},
		"it selects the node":      {selects, []v1alpha1.NamespaceOffloading{both}, true},
		"its volume is there":      {mounts, []v1alpha1.NamespaceOffloading{both}, true},
		"it may go where it wants": {func(*corev1.Pod) {}, nil, false},
	} {
		got := tied([]corev1.Pod{pod(test.change)}, []corev1.Node{node("eu"), node("us")}, "spillway-eu", Volumes{claimed("team", "data", "eu", "")}, test.now)
		if (len(got) == 1) != test.tied {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
