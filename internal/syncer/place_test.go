package syncer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
	"github.com/spillway-io/spillway/internal/translate"
)

func TestPlace(t *testing.T) {
	mount := func() *builder.BindingBuilder { return builder.Binding("eu").MountNamespace("spillover") }
	mounted := mount().Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionTrue, v1alpha1.ReasonNamespaceActive, "").Obj()
	taken := mount().Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionFalse, v1alpha1.ReasonNameConflict, "not ours").Obj()
	plain := builder.Binding("eu").Obj()
	at := func(namespace string) translate.Target { return translate.Target{Mark: testMark, Namespace: namespace} }
	for name, test := range map[string]struct {
		binding *v1alpha1.ClusterBinding
		nsm     *v1alpha1.NamespaceMap
		want    Place // Its Problem only by the reason.
	}{
		"there": {plain, builder.Map("eu").Desired("team", "team-home").Current("team", "team-home", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(), Place{Target: at("team-home"), Open: true}},
		"asked for": {plain, builder.Map("eu").Desired("team", "team-home").Obj(),
			Place{Target: at("team-home"), Problem: Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"somebody else's": {plain, builder.Map("eu").Desired("team", "team-home").Current("team", "team-home", v1alpha1.MappingCreationLoopBackOff, "NameConflict", "not ours").Obj(),
			Place{Target: at("team-home"), Problem: Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"there under another name": {plain, builder.Map("eu").Desired("team", "team-new").Current("team", "team-old", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(),
			Place{Target: at("team-new"), Problem: Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"not asked for any more": {plain, builder.Map("eu").Current("team", "team-home", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(),
			Place{Target: at("team-home"), Leaving: true, Problem: Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"not asked for any more, and a mount namespace": {mounted, builder.Map("eu").Current("team", "team-home", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(),
			Place{Target: at("team-home"), Leaving: true, Problem: Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"not mapped": {plain, builder.Map("eu").Current("other", "other-home", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(),
			Place{Target: at(""), Leaving: true, Problem: Problem{Reason: v1alpha1.ReasonNamespaceNotOffloaded}}},
		"not mapped, and a mount namespace": {mounted, nil, Place{Target: translate.Target{Mark: testMark, Namespace: "spillover", Hashed: true}, Open: true}},
		"not mapped, and the mount namespace is somebody else's": {taken, nil,
			Place{Target: translate.Target{Mark: testMark, Namespace: "spillover", Hashed: true}, Problem: Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"not mapped, and nothing is known of the mount namespace": {mount().Obj(), nil,
			Place{Target: translate.Target{Mark: testMark, Namespace: "spillover", Hashed: true}, Problem: Problem{Reason: v1alpha1.ReasonNamespaceNotReady}}},
		"mapped, and a mount namespace": {mounted, builder.Map("eu").Desired("team", "team-home").Current("team", "team-home", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj(), Place{Target: at("team-home"), Open: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got := newMapping(test.binding, test.nsm).place(testMark, "team")
			if (got.Problem.Reason == "") != (got.Problem.Message == "") {
				t.Errorf("a problem has both a reason and a message: %+v", got.Problem)
			}
			got.Problem.Message = ""
			if got.Open {
				got.Problem = Problem{} // It is of no matter.
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("place (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDiffering(t *testing.T) {
	binding := builder.Binding("eu").Obj()
	before := newMapping(binding, builder.Map("eu").
		Desired("same", "same").Current("same", "same", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").
		Desired("arrives", "arrives").
		Desired("leaves", "leaves").Current("leaves", "leaves", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").
		Current("goes", "goes", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").Obj())
	after := newMapping(binding, builder.Map("eu").
		Desired("same", "same").Current("same", "same", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").
		Desired("arrives", "arrives").Current("arrives", "arrives", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").
		Current("leaves", "leaves", v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "").
		Desired("comes", "comes").Obj())
	got := map[string]bool{}
	for _, namespace := range before.differing(after, testMark) {
		if got[namespace] {
			t.Errorf("%s is listed twice", namespace)
		}
		got[namespace] = true
	}
	want := map[string]bool{"arrives": true, "leaves": true, "goes": true, "comes": true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("differing (-want +got):\n%s", diff)
	}
}
