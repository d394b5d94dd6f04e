package admission

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/manifests"
)

// TestDaemonSetsExcluded: with the optional policy, templates of DaemonSets require ordinary nodes. The
// policy adds that once, whatever else they require.
func TestDaemonSetsExcluded(t *testing.T) {
	needsPolicy(t)
	s := server(t)
	objects, err := manifests.Kustomized(t.Context(), "config/daemonsets")
	if err != nil {
		t.Fatal(err)
	}
	if err := manifests.Create(t.Context(), s, objects); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, object := range objects {
			if err := s.Delete(context.WithoutCancel(t.Context()), object); err != nil {
				t.Error(err)
			}
		}
	})
	ordinary := corev1.NodeSelectorRequirement{Key: v1alpha1.LabelNodeType, Operator: corev1.NodeSelectorOpDoesNotExist}
	linux := corev1.NodeSelectorRequirement{Key: "kubernetes.io/os", Operator: corev1.NodeSelectorOpIn, Values: []string{"linux"}}
	field := corev1.NodeSelectorRequirement{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"a"}}
	preferred := []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{linux}}}}
	term := func(requirements ...corev1.NodeSelectorRequirement) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: requirements}
	}
	made := func(ctx context.Context, set *appsv1.DaemonSet) (*corev1.Affinity, error) {
		set = set.DeepCopy()
		err := s.Create(ctx, set, client.DryRunAll)
		return set.Spec.Template.Spec.Affinity, err
	}
	if err := eventually(t.Context(), func(ctx context.Context) (bool, error) {
		affinity, err := made(ctx, daemonSet(nil))
		return affinity != nil, err
	}); err != nil {
		t.Fatalf("the policy is not in effect: %v", err)
	}
	for name, test := range map[string]struct{ has, want *corev1.Affinity }{
		"nothing": {nil, requiring(term(ordinary))},
		"another affinity": {&corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}},
			&corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{}, NodeAffinity: requiring(term(ordinary)).NodeAffinity}},
		"a preference": {&corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred}},
			&corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: preferred,
				RequiredDuringSchedulingIgnoredDuringExecution: requiring(term(ordinary)).NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution}}},
		"alternatives": {requiring(term(linux), corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{field}}),
			requiring(term(linux, ordinary), corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{ordinary}, MatchFields: []corev1.NodeSelectorRequirement{field}})},
		"an alternative that is no node": {requiring(corev1.NodeSelectorTerm{}, term(linux)), requiring(corev1.NodeSelectorTerm{}, term(linux, ordinary))},
		"it already":                     {requiring(term(ordinary)), requiring(term(ordinary))},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := made(t.Context(), daemonSet(test.has))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	offloaded := daemonSet(nil)
	offloaded.Spec.Template.Annotations = map[string]string{v1alpha1.AnnotationOffloadDaemonSet: v1alpha1.OffloadTrue}
	if got, err := made(t.Context(), offloaded); err != nil || got != nil {
		t.Errorf("one that is to be offloaded gets %v (%v)", got, err)
	}
}

func daemonSet(affinity *corev1.Affinity) *appsv1.DaemonSet {
	labels := map[string]string{"app": "agent"}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Affinity: affinity, Containers: []corev1.Container{{Name: "c", Image: "image"}}}},
		},
	}
}

func requiring(terms ...corev1.NodeSelectorTerm) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: terms}}}
}
