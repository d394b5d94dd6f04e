package namespacemap

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/text"
)

// mostVolumes is how many claims a message names.
const mostVolumes = 5

// WithData returns the names of the claims of a remote namespace with volumes that the provider has created: whatever is
// bound, unless its volume is the consumer's. A claim of a pod's ephemeral volume is none.
func WithData(claims []corev1.PersistentVolumeClaim) []string {
	var names []string
	for i := range claims {
		owner := metav1.GetControllerOf(&claims[i])
		if claims[i].Spec.VolumeName != "" && field.HoldsData(&claims[i]) && (owner == nil || owner.Kind != "Pod") {
			names = append(names, claims[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// VolumesRemain says that a remote namespace is not deleted, because these claims in it have volumes that the
// provider has created. It returns "" if there are none.
func VolumesRemain(claims []string) string {
	if len(claims) == 0 {
		return ""
	}
	return fmt.Sprintf("the remote namespace is not deleted, because the volumes of these claims would be lost: %s; delete the claims, %s; "+
		"to keep them there, set %s=%s on the NamespaceOffloading that is being deleted, and create it again", text.Few(claims, mostVolumes), orLose, v1alpha1.AnnotationKeepVolumes, v1alpha1.KeepVolumes)
}

// VolumesForgotten says that it is not known whether these claims exist, because the NamespaceMap says nothing.
func VolumesForgotten(claims []string) string {
	return "the NamespaceMap of the ClusterBinding does not say yet whether the remote namespace exists; the consumer has PersistentVolumes for these claims in it: " + text.Few(claims, mostVolumes)
}

// VolumesUnknown says that a remote namespace is not deleted, because the provider does not let the manager see
// whether it has volumes.
func VolumesUnknown() string {
	return "the remote namespace is not deleted, because the provider does not let the manager list PersistentVolumeClaims, and their volumes would be lost; restore that right, " + orLose
}

// orLose says how to give the volumes up.
const orLose = "or set the annotation " + v1alpha1.AnnotationLoseVolumes + "=" + v1alpha1.LoseVolumes + " on the NamespaceOffloading or the ClusterBinding once that is being deleted"

// LosesVolumes reports whether the volumes of a ClusterBinding or a NamespaceOffloading may be lost: it is being
// deleted, and its annotation says so.
func LosesVolumes(obj metav1.Object) bool {
	return !obj.GetDeletionTimestamp().IsZero() && obj.GetAnnotations()[v1alpha1.AnnotationLoseVolumes] == v1alpha1.LoseVolumes
}
