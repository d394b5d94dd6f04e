package mountnamespace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provenance"
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
	at := func(step string) *builder.BindingBuilder {
		return eu().Deleted(0).Condition(v1alpha1.BindingDrained, metav1.ConditionFalse, step, "")
	}
	ready := &metav1.Condition{Type: "MountNamespaceReady", Status: metav1.ConditionTrue, Reason: "NamespaceActive"}
	const conflict = "namespace mount exists in provider eu, and is left alone: "
	deleting := no(v1alpha1.ReasonNotRequired, "the mount namespace is being deleted, because the ClusterBinding is")
	deleted := no(v1alpha1.ReasonNamespaceDeleted, "the mount namespace is deleted")
	tests := map[string]struct {
		binding *builder.BindingBuilder
		remote  *corev1.Namespace
		want    Plan
	}{
		"it is not there": {eu(), nil, Plan{Create: true, Ready: no("Pending", "the mount namespace has not been created yet")}},
		"it is there":     {eu(), remote(), Plan{Ready: ready}},
		"it is going": {eu(), remote(going), Plan{Ready: no(v1alpha1.ReasonNamespaceTerminating,
			"namespace mount is being deleted in provider eu; it is made again when it is gone")}},
		"it is somebody's": {eu(), remote(func(n *corev1.Namespace) { n.Labels = nil }), Plan{Ready: no(v1alpha1.ReasonNameConflict,
			conflict+"it was not created by Spillway")}},
		"it is another binding's": {eu(), remote(ofOther), Plan{Ready: no(v1alpha1.ReasonNameConflict,
			conflict+"it belongs to Spillway's consumer home, binding us, local namespace unknown (UID unknown)")}},
		"it is another binding's, and going": {eu(), remote(ofOther, going), Plan{Ready: no(v1alpha1.ReasonNameConflict,
			conflict+"it belongs to Spillway's consumer home, binding us, local namespace unknown (UID unknown)")}},
		"it stands for a local namespace": {eu(), remote(standing), Plan{Ready: no(v1alpha1.ReasonNameConflict,
			conflict+"it belongs to Spillway's consumer home, binding eu, local namespace team (UID uid-of-team)")}},
		"it is the manager's": {builder.Binding("eu").MountNamespace("spillway-system"), remote(), Plan{Ready: no(v1alpha1.ReasonNameReserved,
			"remote namespace spillway-system belongs to the provider and is never a target")}},
		"deleted, and it is not its turn":    {at(v1alpha1.ReasonEvictingPods), remote(), Plan{}},
		"deleted, and it was never made":     {at(v1alpha1.ReasonEvictingPods), nil, Plan{}},
		"deleted":                            {at(v1alpha1.ReasonDeletingNamespaces), remote(), Plan{Delete: "uid-of-mount", Ready: deleting}},
		"deleted, and it is going":           {at(v1alpha1.ReasonDeletingNamespaces), remote(going), Plan{Ready: deleting}},
		"deleted, and it is gone":            {at(v1alpha1.ReasonDeletingNamespaces), nil, Plan{Ready: deleted}},
		"deleted, and it is somebody else's": {at(v1alpha1.ReasonDeletingNamespaces), remote(ofOther), Plan{Ready: deleted}},
		"deleted, and it stands for another": {at(v1alpha1.ReasonDeletingNamespaces), remote(standing), Plan{Ready: deleted}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Decide(Snapshot{Binding: test.binding.Obj(), Mark: mark, Remote: test.remote, ManagerNamespace: "spillway-system"})
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestRefused: a deletion that is refused leaves the namespace there, so that the binding's
// deletion must wait; a creation that is refused leaves none.
func TestRefused(t *testing.T) {
	for name, test := range map[string]struct {
		plan     Plan
		want     Plan
		mayExist bool
	}{
		"its creation": {Plan{Create: true, Ready: Pending()}, Plan{Ready: no("CreationFailed", "quota")}, false},
		"its deletion": {Plan{Delete: "uid-of-mount", Ready: Pending()}, Plan{Ready: no("DeletionFailed", "quota")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := Refused(test.plan, "quota")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Fatalf("(-want +got)\n%s", diff)
			}
			binding := builder.Binding("eu").Condition(got.Ready.Type, got.Ready.Status, got.Ready.Reason, got.Ready.Message).Obj()
			if MayExist(binding) != test.mayExist {
				t.Errorf("it may exist: %t, want %t", !test.mayExist, test.mayExist)
			}
		})
	}
}

// TestUsable: pods go to a mount namespace that is asked for, and ready.
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

func TestIsFailing(t *testing.T) {
	said := Failing("failed calling webhook")
	binding := builder.Binding("eu").MountNamespace("mount").Condition(said.Ready.Type, said.Ready.Status, said.Ready.Reason, said.Ready.Message).Obj()
	if answer, ok := IsFailing(binding); !ok || answer != "failed calling webhook" {
		t.Errorf("got %q, %v", answer, ok)
	}
	if answer, ok := IsFailing(builder.Binding("eu").MountNamespace("mount").Obj()); ok {
		t.Errorf("nothing is said, and it fails: %q", answer)
	}
	refused := Refused(Plan{Create: true}, "no")
	binding = builder.Binding("eu").Condition(refused.Ready.Type, refused.Ready.Status, refused.Ready.Reason, refused.Ready.Message).Obj()
	if answer, ok := IsFailing(binding); ok {
		t.Errorf("a refusal is a failure: %q", answer)
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
