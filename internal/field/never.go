package field

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// NeverSynced refuses an object whose owner marked it to stay in the consumer.
func NeverSynced(kind string, local metav1.Object) *Problem {
	if local.GetLabels()[v1alpha1.LabelSync] != v1alpha1.SyncNever && local.GetAnnotations()[v1alpha1.LabelSync] != v1alpha1.SyncNever {
		return nil
	}
	return Refuse(ReasonSyncNever, "%s %s has %s=%s", kind, local.GetName(), v1alpha1.LabelSync, v1alpha1.SyncNever)
}
