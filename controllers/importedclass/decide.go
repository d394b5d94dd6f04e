package importedclass

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
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
	// classParameter is the parameter of imported VolumeAttributesClasses.
	classParameter = "class"
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
	case v1alpha1.ClassStorage:
		return &storagev1.StorageClass{
			ObjectMeta: named, Provisioner: v1alpha1.StorageDriver, ReclaimPolicy: ptr.To(cmp.Or(there.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)),
			AllowVolumeExpansion: &there.AllowVolumeExpansion, VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
			AllowedTopologies: []corev1.TopologySelectorTerm{{MatchLabelExpressions: []corev1.TopologySelectorLabelRequirement{
				{Key: v1alpha1.LabelStorageClassPrefix + named.Name, Values: []string{v1alpha1.StorageClassMapped}},
			}}},
		}
	case v1alpha1.ClassVolumeAttributes: // It must have a parameter, which no driver reads.
		return &storagev1.VolumeAttributesClass{ObjectMeta: named, DriverName: v1alpha1.StorageDriver, Parameters: map[string]string{classParameter: named.Name}}
	}
	return nil
}

// isMarked reports whether a class has the mark of imported classes.
func isMarked(class decide.Object) bool {
	_, imported := class.GetAnnotations()[v1alpha1.AnnotationImportedFrom]
	return imported && class.GetLabels()[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBySpillway
}

// serves reports whether a user's class names Spillway as its controller, provisioner or driver.
func serves(class decide.Object) bool {
	switch class := class.(type) {
	case *networkingv1.IngressClass:
		return class.Spec.Controller == v1alpha1.IngressController
	case *storagev1.StorageClass:
		return class.Provisioner == v1alpha1.StorageDriver
	case *storagev1.VolumeAttributesClass:
		return class.DriverName == v1alpha1.StorageDriver
	}
	return false
}

// same reports whether two classes have the same effect.
func same(a, b decide.Object) bool { return equality.Semantic.DeepEqual(effect(a), effect(b)) }

// effect returns the fields of a class that matter.
func effect(class decide.Object) any {
	switch c := class.(type) {
	case *networkingv1.IngressClass:
		return c.Spec
	case *nodev1.RuntimeClass:
		return []any{c.Handler, c.Scheduling, c.Overhead}
	case *schedulingv1.PriorityClass:
		return []any{c.Value, c.GlobalDefault, c.PreemptionPolicy}
	case *storagev1.StorageClass:
		return []any{c.Provisioner, c.ReclaimPolicy, c.AllowVolumeExpansion, c.AllowedTopologies}
	case *storagev1.VolumeAttributesClass:
		return c.DriverName
	}
	return nil
}
