// Package importedclass decides, without any I/O, which classes the consumer has because
// ClusterBindings import them.
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
	"github.com/spillway-io/spillway/internal/decide"
)

const (
	// mostValue is the highest value of an imported PriorityClass. Pods of it are scheduled
	// before those without a class, and preempt none.
	mostValue = 1000
	// handler is that of imported RuntimeClasses. No kubelet has it.
	handler = "spillway"
)

// Plan is what to do about the class of one name.
type Plan struct {
	// Create is to be created, and Delete deleted; nil: nothing is.
	Create, Delete decide.Object
	// Replaces says that a class is to be made in place of Delete.
	Replaces bool
	// Taken are the bindings that import it, if a class of that name is somebody else's.
	Taken []*v1alpha1.ClusterBinding
}

// Decide decides about a class. found has its name here; nil: none has. Changes are made by
// deletion: what says how a class works is immutable.
func Decide(kind v1alpha1.ClassKind, name string, bindings []v1alpha1.ClusterBinding, found decide.Object) Plan {
	importing := importers(kind, name, bindings)
	switch desired := desiredOf(kind, name, importing); {
	case found == nil && desired == nil:
		return Plan{}
	case found == nil:
		return Plan{Create: desired}
	case !isOurs(found):
		if serves(found) {
			return Plan{} // As good as ours.
		}
		return Plan{Taken: importing}
	case found.GetDeletionTimestamp() != nil, len(importing) > 0 && (desired == nil || same(found, desired)):
		return Plan{}
	default:
		return Plan{Delete: found, Replaces: desired != nil}
	}
}

// importers are the bindings that import the class, the oldest first. One that is being deleted
// needs it until the end: the pods that its drain evicts are made anew, with the class.
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

// mapping is the one by which a binding imports the class, or nil.
func mapping(binding *v1alpha1.ClusterBinding, kind v1alpha1.ClassKind, name string) *v1alpha1.ClassMapping {
	for i := range binding.Spec.Classes {
		if m := &binding.Spec.Classes[i]; m.Import && m.Kind == kind && m.Name == name {
			return m
		}
	}
	return nil
}

// desiredOf is the class as the oldest binding has it whose provider has it; nil: none has.
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
			ObjectMeta: named, Handler: handler,
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

// isOurs reports whether a class has the mark of imported ones.
func isOurs(class decide.Object) bool {
	_, imported := class.GetAnnotations()[v1alpha1.AnnotationImportedFrom]
	return imported && class.GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBySpillway
}

// serves reports whether a class that somebody has made says that Spillway is its controller.
func serves(class decide.Object) bool {
	ingress, ok := class.(*networkingv1.IngressClass)
	return ok && ingress.Spec.Controller == v1alpha1.IngressController
}

// same reports whether two classes do the same.
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
