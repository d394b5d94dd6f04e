package persistentvolumeclaim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	podneeds "github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// unusable says why no pod that waits for a claim can run in the provider, or returns nil. A volume would bind the
// pods to it. The cache holds only parts of most waiting pods, but all of those that a provider's limits may refuse.
func unusable(local *corev1.PersistentVolumeClaim, around decide.Inputs) *field.Problem {
	if local.Annotations[field.AnnotationSelectedNode] == "" || around.Limits == nil || around.Limits.Unknown != nil {
		return nil
	}
	var why *field.Problem
	for _, pod := range around.Waiting(local.Namespace) {
		if !pod.DeletionTimestamp.IsZero() || !slices.Contains(podneeds.Claims(&pod), local.Name) {
			continue
		}
		refusal := accept.Refusal(&pod, accept.Provider{Limits: around.Limits})
		if refusal == nil {
			return nil
		}
		why = field.Refuse(refusal.Reason, "PersistentVolumeClaim %s: pod %s, which waits for it, cannot run in the provider: %s", local.Name, pod.Name, refusal.Message)
	}
	return why
}

// Yield implements decide.Yielding, as CSI drivers do: without the annotation, the scheduler chooses a node again. No
// provider takes a claim with a data source, or one that has a volume, so those stay.
func (translation) Yield(metadata *corev1.PersistentVolumeClaim, why field.Problem, around decide.Inputs) bool {
	if !around.Provides || !v1alpha1.SameProvider(metadata.Annotations[field.AnnotationSelectedNode], around.Node) || !IsProvidedBy(metadata, around.Node) ||
		why.Reason == v1alpha1.ReasonDataSourceNotSent || why.Reason == v1alpha1.ReasonVolumeLost || why.Reason == field.ReasonVolumeNotPortable {
		return false
	}
	delete(metadata.Annotations, field.AnnotationSelectedNode)
	return true
}

var _ decide.Yielding[*corev1.PersistentVolumeClaim] = translation{}
