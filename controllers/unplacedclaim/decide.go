package unplacedclaim

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/internal/field"
)

// waits reports whether a claim waits for a volume of a provider, and no scheduler has chosen one. Only metadata is
// read. Kubernetes names the driver on the claim at once if the class has the binding mode Immediate.
func waits(claim metav1.Object) bool {
	all := claim.GetAnnotations()
	return claim.GetDeletionTimestamp().IsZero() && all[field.AnnotationStorageProvisioner] == v1alpha1.StorageDriver &&
		all[field.AnnotationBindCompleted] == "" && all[field.AnnotationSelectedNode] == ""
}

// decide says why nobody creates a volume for a claim that waits, or returns nil. bindings are those that hold their
// clusterID.
func decide(claim *corev1.PersistentVolumeClaim, class *storagev1.StorageClass, bindings []*v1alpha1.ClusterBinding) *field.Problem {
	if !waits(claim) || claim.Spec.VolumeName != "" || class == nil || field.StorageOf(class).Binding != storagev1.VolumeBindingImmediate {
		return nil
	}
	name, able := persistentvolumeclaim.StorageClass(claim), []string(nil)
	for _, binding := range bindings {
		if binding.Spec.ClusterID == claim.Annotations[v1alpha1.AnnotationProvider] {
			return nil // The binding's own controllers say what is wrong.
		}
		if _, mapped := field.Classes(binding.Spec.Classes).Of(v1alpha1.ClassStorage, name); mapped {
			able = append(able, binding.Spec.ClusterID)
		}
	}
	choice := "no ClusterBinding maps this class"
	if len(able) > 0 {
		choice = "these map the class: " + strings.Join(able, ", ")
	}
	return field.Refuse(v1alpha1.ReasonProviderNotChosen, "StorageClass %s has the volumeBindingMode Immediate, so no pod chooses the provider of PersistentVolumeClaim %s: "+
		"set its annotation %s to the clusterID of a ClusterBinding; %s", name, claim.Name, v1alpha1.AnnotationProvider, choice)
}
