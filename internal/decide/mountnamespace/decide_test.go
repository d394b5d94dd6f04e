package mountnamespace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

var mark = provenance.Mark{Origin: "home", ClusterID: "eu"}

func remote(edits ...func(*corev1.Namespace)) *corev1.Namespace {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "mount", UID: "uid-of-mount", Labels: mark.Labels()}}
	for _, edit := range edits {
		edit(namespace)
	}
	return namespace
}

func going(n *corev1.Namespace) { n.DeletionTimestamp = ptr.To(metav1.NewTime(builder.Epoch)) }

func ofOther(n *corev1.Namespace) { n.Labels[v1alpha1.LabelBinding] = "us" }

func standing(n *corev1.Namespace) {
	n.Annotations = provenance.NamespaceAnnotations("team", "uid-of-team")
}

func TestDecide(t *testing.T) {
	eu := func() *builder.BindingBuilder { return builder.Binding("eu").MountNamespace("mount") }
	know := func(phase v1alpha1.MappingPhase, reason, message string) namespacemap.Plan {
		return namespacemap.Plan{Known: map[string]namespacemap.Known{"": {RemoteNamespace: "mount", Outcome: namespacemap.Outcome{Phase: phase, Reason: reason, Message: message}}}}
	}
	conflict := func(whose string) namespacemap.Plan {
		return know(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameConflict, "namespace mount exists in provider eu, and is left alone: "+whose)
	}
	create := namespacemap.Plan{Creates: []namespacemap.Create{{RemoteNamespace: "mount"}}}
	deleting := know(v1alpha1.MappingTerminating, v1alpha1.ReasonNotRequired, "the mount namespace is being deleted, because the ClusterBinding is")
	deletes := deleting
	deletes.Deletes = []namespacemap.Delete{{RemoteNamespace: "mount", UID: "uid-of-mount"}}
	deleted := know(v1alpha1.MappingTerminating, v1alpha1.ReasonNamespaceDeleted, "the mount namespace is gone")
	reserved := know(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameReserved, "remote namespace mount is reserved: use another name")
	active := know(v1alpha1.MappingAccepted, v1alpha1.ReasonNamespaceActive, "")
	refused := know(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonCreationFailed, "quota")
	tests := map[string]struct {
		binding *builder.BindingBuilder
		remote  *corev1.Namespace
		want    namespacemap.Plan
	}{
		"it is not there": {eu(), nil, create},
		"it is there":     {eu(), remote(), active},
		"it is going": {eu(), remote(going), know(v1alpha1.MappingTerminating, v1alpha1.ReasonNamespaceTerminating,
			"namespace mount is being deleted in provider eu; Spillway recreates it when it is gone")},
		"it is somebody's": {eu(), remote(func(n *corev1.Namespace) { n.Labels = nil }), conflict("it was not created by Spillway")},
		"it is another binding's": {eu(), remote(ofOther),
			conflict("it belongs to Spillway's consumer home, binding us, local namespace unknown (UID unknown)")},
		"it is another binding's, and going": {eu(), remote(ofOther, going),
			conflict("it belongs to Spillway's consumer home, binding us, local namespace unknown (UID unknown)")},
		"it stands for a local namespace": {eu(), remote(standing),
			conflict("it belongs to Spillway's consumer home, binding eu, local namespace team (UID uid-of-team)")},
		"deleted":                            {eu().Deleted(0), remote(), deletes},
		"deleted, and it is going":           {eu().Deleted(0), remote(going), deleting},
		"deleted, and it is gone":            {eu().Deleted(0), nil, deleted},
		"deleted, and it is somebody else's": {eu().Deleted(0), remote(ofOther), deleted},
		"deleted, and it stands for another": {eu().Deleted(0), remote(standing), deleted},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := Snapshot{Binding: test.binding.Obj(), Mark: mark, Remote: test.remote, ManagerNamespace: "spillway-system"}
			if diff := cmp.Diff(test.want, Decide(s), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			s.BackingOff = map[string]namespacemap.Outcome{"other": refused.Known[""].Outcome}
			if diff := cmp.Diff(test.want, Decide(s), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("another one was refused (-want +got)\n%s", diff)
			}
			s.BackingOff = map[string]namespacemap.Outcome{"mount": refused.Known[""].Outcome}
			want := test.want
			if len(want.Creates) > 0 {
				want = refused
			}
			if diff := cmp.Diff(want, Decide(s), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("it was refused (-want +got)\n%s", diff)
			}
			s.ManagerNamespace = "mount"
			if diff := cmp.Diff(reserved, Decide(s), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("it is the manager's (-want +got)\n%s", diff)
			}
		})
	}
}

func TestReady(t *testing.T) {
	for phase, want := range map[v1alpha1.MappingPhase]metav1.ConditionStatus{
		v1alpha1.MappingAccepted: metav1.ConditionTrue, v1alpha1.MappingCreationLoopBackOff: metav1.ConditionFalse, v1alpha1.MappingTerminating: metav1.ConditionFalse,
	} {
		got := Ready(namespacemap.Outcome{Phase: phase, Reason: "Reason", Message: "message"})
		if diff := cmp.Diff(metav1.Condition{Type: "MountNamespaceReady", Status: want, Reason: "Reason", Message: "message"}, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", phase, diff)
		}
	}
	if got := Pending(); got.Status != metav1.ConditionFalse || got.Reason != "Pending" || got.Message != "the mount namespace has not been created yet" {
		t.Errorf("pending is %+v", got)
	}
}

// TestUsable checks that pods go to a mount namespace that the binding asks for and that is ready.
func TestUsable(t *testing.T) {
	ready := func(b *builder.BindingBuilder) *v1alpha1.ClusterBinding {
		return b.Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionTrue, v1alpha1.ReasonNamespaceActive, "").Obj()
	}
	if !Usable(ready(builder.Binding("eu").MountNamespace("mount"))) {
		t.Error("it is ready, and not usable")
	}
	if Usable(ready(builder.Binding("eu"))) {
		t.Error("it is not asked for any more, and usable")
	}
}

func TestMayExist(t *testing.T) {
	for reason, want := range map[string]bool{
		"": false, v1alpha1.ReasonPending: true, v1alpha1.ReasonNamespaceActive: true, v1alpha1.ReasonNamespaceTerminating: true,
		v1alpha1.ReasonNotRequired: true, v1alpha1.ReasonDeletionFailed: true, v1alpha1.ReasonNamespaceDeleted: false,
		v1alpha1.ReasonNameConflict: false, v1alpha1.ReasonNameReserved: false, v1alpha1.ReasonCreationFailed: false,
		v1alpha1.ReasonServerError: true,
	} {
		t.Run("reason "+reason, func(t *testing.T) {
			binding := builder.Binding("eu").MountNamespace("mount")
			if reason != "" {
				binding.Condition(v1alpha1.BindingMountNamespaceReady, metav1.ConditionFalse, reason, "")
			}
			if got := MayExist(binding.Obj()); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
			if Usable(binding.Obj()) {
				t.Error("usable, though it is not ready")
			}
		})
	}
}
