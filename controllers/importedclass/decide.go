package importedclass

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
)

const (
	// mostValue is the highest value of an imported PriorityClass. The scheduler prefers its pods to pods
	// without a class, and they preempt no others.
	mostValue = 1000
	// classHandler is the handler of imported RuntimeClasses. No kubelet has it.
	classHandler = "spillway"
)

// Plan is what to do about the class with one name.
type Plan struct {
	// Create is the class to create, and Delete the class to delete; nil: none.
	Create, Delete decide.Object
	// Replaces reports that a new class will replace the deleted one.
	Replaces bool
	// Taken are the bindings that import the class, if a class with that name does not belong to Spillway.
	Taken []*v1alpha1.ClusterBinding
}

// Decide decides about a class. found is the consumer's class with that name, or nil. A changed class is
// deleted and created again, because its relevant fields are immutable.
func Decide(kind v1alpha1.ClassKind, name string, bindings []v1alpha1.ClusterBinding, found decide.Object) Plan {
	importing := importers(kind, name, bindings)
	switch desired := desiredOf(kind, name, importing); {
	case found == nil && desired == nil:
		return Plan{}
	case found == nil:
		return Plan{Create: desired}
	case !isMarked(found):
		if serves(found) {
			return Plan{} // It works like an imported class.
		}
		return Plan{Taken: importing}
	case found.GetDeletionTimestamp() != nil, len(importing) > 0 && (desired == nil || same(found, desired)):
		return Plan{}
	default:
		return Plan{Delete: found, Replaces: desired != nil}
	}
}

// importers returns the bindings that import the class, the oldest first. A binding that is being deleted
// needs the class until the end, because the pods that its drain evicts are recreated with the class.
func importers(kind v1alpha1.ClassKind, name string, bindings []v1alpha1.ClusterBinding) (all []*v1alpha1.ClusterBinding) {
	for i := range bindings {
		if mapping(&bindings[i], kind, name) != nil {
			all = append(all, &bindings[i])
		}
	}
	slices.SortFunc(all, func(a, b *v1alpha1.ClusterBinding) int {
		if !a.CreationTimestamp.Equal(&b.CreationTimestamp) {
			return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all
}

// mapping returns the entry by which a binding imports the class, or nil.
func mapping(binding *v1alpha1.ClusterBinding, kind v1alpha1.ClassKind, name string) *v1alpha1.ClassMapping {
	for i := range binding.Spec.Classes {
		if m := &binding.Spec.Classes[i]; m.Import && m.Kind == kind && m.Name == name {
			return m
		}
	}
	return nil
}

// desiredOf returns the class of the oldest binding whose provider has it, or nil if no provider has it.
func desiredOf(kind v1alpha1.ClassKind, name string, importing []*v1alpha1.ClusterBinding) decide.Object {
	for _, binding := range importing {
		remote := mapping(binding, kind, name).RemoteName
		for _, there := range binding.Status.Classes {
			if there.Kind == kind && there.RemoteName == remote {
				return class(there, metav1.ObjectMeta{
					Name: name, Labels: map[string]string{v1alpha1.LabelManagedBy: v1alpha1.ManagedBySpillway},
					Annotations: map[string]string{v1alpha1.AnnotationImportedFrom: binding.Spec.ClusterID + "/" + remote},
				})
			}
		}
	}
	return nil
}

func class(there v1alpha1.ClassStatus, named metav1.ObjectMeta) decide.Object {
	switch there.Kind {
	case v1alpha1.ClassIngress:
		return &networkingv1.IngressClass{ObjectMeta: named, Spec: networkingv1.IngressClassSpec{Controller: v1alpha1.IngressController}}
	case v1alpha1.ClassRuntime:
		runtime := &nodev1.RuntimeClass{
			ObjectMeta: named, Handler: classHandler,
			Scheduling: &nodev1.Scheduling{NodeSelector: map[string]string{v1alpha1.LabelRuntimeClassPrefix + named.Name: v1alpha1.RuntimeClassMapped}},
		}
		if len(there.PodOverhead) > 0 {
			runtime.Overhead = &nodev1.Overhead{PodFixed: maps.Clone(there.PodOverhead)}
		}
		return runtime
	case v1alpha1.ClassPriority:
		return &schedulingv1.PriorityClass{
			ObjectMeta: named, Value: min(max(ptr.Deref(there.Value, 0), 0), mostValue), PreemptionPolicy: ptr.To(corev1.PreemptNever),
		}
	}
	return nil
}

// isMarked reports whether a class has the mark of imported classes.
func isMarked(class decide.Object) bool {
	_, imported := class.GetAnnotations()[v1alpha1.AnnotationImportedFrom]
	return imported && class.GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBySpillway
}

// serves reports whether a user's class names Spillway as its controller.
func serves(class decide.Object) bool {
	ingress, ok := class.(*networkingv1.IngressClass)
	return ok && ingress.Spec.Controller == v1alpha1.IngressController
}

// same reports whether two classes have the same effect.
func same(a, b decide.Object) bool {
	switch a := a.(type) {
	case *networkingv1.IngressClass:
		b, ok := b.(*networkingv1.IngressClass)
		return ok && equality.Semantic.DeepEqual(a.Spec, b.Spec)
	case *nodev1.RuntimeClass:
		b, ok := b.(*nodev1.RuntimeClass)
		return ok && a.Handler == b.Handler && equality.Semantic.DeepEqual(a.Scheduling, b.Scheduling) && equality.Semantic.DeepEqual(a.Overhead, b.Overhead)
	case *schedulingv1.PriorityClass:
		b, ok := b.(*schedulingv1.PriorityClass)
		return ok && a.Value == b.Value && a.GlobalDefault == b.GlobalDefault && equality.Semantic.DeepEqual(a.PreemptionPolicy, b.PreemptionPolicy)
	}
	return false
}
