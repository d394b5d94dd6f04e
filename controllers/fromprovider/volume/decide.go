package volume

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/text"
)

// snapshot is what is known about one claim of the consumer and its volume. Missing objects are nil.
type snapshot struct {
	clusterID string
	// claim is the consumer's claim. volume is the consumer's volume for a claim with that UID. remote is the
	// provider's claim for a claim with that UID.
	claim  *corev1.PersistentVolumeClaim
	volume *corev1.PersistentVolume
	remote *corev1.PersistentVolumeClaim
	// unlabelled is the metadata of the consumer's volume if somebody has removed its label.
	unlabelled *metav1.PartialObjectMetadata
	// storage is what the provider's class of remote says, and class what the consumer's class of claim says. Each is
	// nil if that is unknown.
	storage, class *field.Storage
}

// plan is what to do. At most one object is set.
type plan struct {
	create, delete *corev1.PersistentVolume
	// after is volume with changes.
	after *corev1.PersistentVolume
	// labelled is unlabelled with its label.
	labelled *metav1.PartialObjectMetadata
	// status is claim with another status.
	status *corev1.PersistentVolumeClaim
	// confirms is the claim from which delete or after follows. The consumer's API server must have it as it was read.
	confirms *corev1.PersistentVolumeClaim
	// problem is what the owner of the claim should know.
	problem *field.Problem
}

// decideVolume decides about the consumer's volume. It never deletes anything in the provider: that follows from
// the volume (package toprovider/persistentvolumeclaim).
func decideVolume(s snapshot) plan {
	switch {
	case s.unlabelled != nil:
		return plan{labelled: s.labelled()}
	case s.volume == nil:
		return s.creation()
	case s.unused(), s.isElsewhere():
		return s.withdrawal()
	case s.unbound():
		return s.withoutFinalizer()
	case stuck(s) != nil:
		return plan{problem: stuck(s)}
	case s.volume.Status.Phase == corev1.VolumeReleased || !s.volume.DeletionTimestamp.IsZero() && s.volume.Status.Phase != corev1.VolumeBound:
		return s.end()
	default:
		return s.following()
	}
}

// unbound reports whether somebody deletes the volume before Kubernetes has bound the claim to it. No pod has used it,
// and another one is created afterwards. Kubernetes sets the phase of the volume before it writes its name to the claim,
// so the version of the volume confirms this.
func (s snapshot) unbound() bool {
	phase := s.volume.Status.Phase
	return !s.volume.DeletionTimestamp.IsZero() && (phase == "" || phase == corev1.VolumePending || phase == corev1.VolumeAvailable) &&
		s.claim != nil && s.claim.Spec.VolumeName == ""
}

// creation creates the volume for a claim without one. The provider binds its claim at once, or only when the first
// pod there needs it. That pod is sent after the consumer's claim is bound. So then the volume has what the
// claim asks for, until the provider says more.
func (s snapshot) creation() plan {
	if !s.mayCreate() {
		return plan{}
	}
	capacity := s.claim.Spec.Resources.Requests
	switch {
	case s.remote.Status.Phase == corev1.ClaimBound:
		if problem := s.mismatch(); problem != nil {
			return plan{problem: problem}
		}
		capacity = s.remote.Status.Capacity
	case s.remote.Status.Phase == corev1.ClaimLost:
		return plan{problem: field.Refuse(v1alpha1.ReasonVolumeLost, "claim %s in provider %s has lost its volume", decide.KeyOf(s.remote), s.clusterID)}
	case s.storage == nil || s.storage.Binding != storagev1.VolumeBindingWaitForFirstConsumer:
		return plan{}
	}
	return plan{create: s.newVolume(capacity[corev1.ResourceStorage])}
}

// mayCreate reports whether the claim waits for a volume of this provider, and the provider's claim is the one that
// was sent for it. After a restore of the consumer, several providers may have a claim for it: only the one that
// Kubernetes asks now counts.
func (s snapshot) mayCreate() bool {
	if s.claim == nil || !s.claim.DeletionTimestamp.IsZero() || s.claim.Spec.VolumeName != "" || s.claim.Status.Phase == corev1.ClaimLost ||
		s.remote == nil || !s.remote.DeletionTimestamp.IsZero() || len(validation.IsDNS1123Subdomain(string(s.remote.UID))) > 0 {
		return false
	}
	sent := strings.Split(s.claim.Annotations[v1alpha1.AnnotationRemote+s.clusterID], ",")
	return persistentvolumeclaim.IsProvidedBy(s.claim, v1alpha1.VirtualNodePrefix+s.clusterID) && slices.Contains(sent, field.Location(decide.KeyOf(s.remote)))
}

// mismatch says why what the provider has bound does not fit the claim.
func (s snapshot) mismatch() *field.Problem {
	if name := field.Unbounded(s.remote.Status.Capacity); name != "" {
		return field.QuantityRefusal("claim " + s.remote.Name + " in provider " + s.clusterID + ": status.capacity." + name)
	}
	has, asked := s.remote.Status.Capacity[corev1.ResourceStorage], s.claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if has.Cmp(asked) < 0 {
		return field.Refuse(v1alpha1.ReasonVolumeTooSmall, "the volume of claim %s in provider %s has a capacity of %s, and PersistentVolumeClaim %s asks for %s",
			decide.KeyOf(s.remote), s.clusterID, has.String(), s.claim.Name, asked.String())
	}
	for _, mode := range s.claim.Spec.AccessModes {
		if !slices.Contains(s.remote.Status.AccessModes, mode) {
			return field.Refuse(v1alpha1.ReasonVolumeTooSmall, "the volume of claim %s in provider %s lacks the access mode %s", decide.KeyOf(s.remote), s.clusterID, mode)
		}
	}
	return nil
}

// following reports what the provider says about the volume. A capacity that shrinks is not shown: a pod may have
// written more.
func (s snapshot) following() plan {
	if s.remote == nil || s.claim == nil || s.remote.Status.Phase != corev1.ClaimBound || !s.volume.DeletionTimestamp.IsZero() {
		return plan{}
	}
	if !persistentvolumeclaim.IsFor(s.volume, s.claim.UID, s.remote) {
		return plan{problem: field.Refuse(v1alpha1.ReasonVolumeLost, "claim %s in provider %s is another one than that with the data of PersistentVolumeClaim %s",
			decide.KeyOf(s.remote), s.clusterID, s.claim.Name)}
	}
	if field.Unbounded(s.remote.Status.Capacity) != "" {
		return plan{problem: s.mismatch()}
	}
	has, shown := s.remote.Status.Capacity[corev1.ResourceStorage], s.volume.Spec.Capacity[corev1.ResourceStorage]
	switch has.Cmp(shown) {
	case 1:
		after := s.volume.DeepCopy()
		after.Spec.Capacity[corev1.ResourceStorage] = has
		return plan{after: after}
	case -1:
		return plan{problem: field.Refuse(v1alpha1.ReasonVolumeTooSmall, "the volume of claim %s in provider %s has a capacity of %s, less than the %s of PersistentVolume %s",
			decide.KeyOf(s.remote), s.clusterID, has.String(), shown.String(), s.volume.Name)}
	default:
		return s.reported()
	}
}

// reported reports on the claim how far its expansion is.
func (s snapshot) reported() plan {
	if s.claim.Status.Phase != corev1.ClaimBound { // Kubernetes sets the first status.
		return plan{}
	}
	after := s.claim.DeepCopy()
	has, shown := s.remote.Status.Capacity[corev1.ResourceStorage], s.claim.Status.Capacity[corev1.ResourceStorage]
	if has.Cmp(shown) > 0 {
		after.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: has}
	}
	after.Status.Conditions = slices.DeleteFunc(after.Status.Conditions, ofExpansion)
	for _, condition := range s.remote.Status.Conditions {
		if ofExpansion(condition) && condition.Status == corev1.ConditionTrue && len(after.Status.Conditions) < mostConditions {
			condition.Reason, condition.Message = text.Bound(condition.Reason, mostMessage), text.Bound(condition.Message, mostMessage)
			after.Status.Conditions = append(after.Status.Conditions, condition)
		}
	}
	if equality.Semantic.DeepEqual(after.Status, s.claim.Status) {
		return plan{}
	}
	return plan{status: after}
}

const (
	// mostConditions and mostMessage bound what a claim gets of the provider's conditions.
	mostConditions = 8
	mostMessage    = 256
)

// ofExpansion reports whether a condition is about the expansion of a volume.
func ofExpansion(condition corev1.PersistentVolumeClaimCondition) bool {
	switch condition.Type {
	case corev1.PersistentVolumeClaimResizing, corev1.PersistentVolumeClaimFileSystemResizePending,
		corev1.PersistentVolumeClaimControllerResizeError, corev1.PersistentVolumeClaimNodeResizeError:
		return true
	default:
		return false
	}
}

// end removes the volume once its claim is gone. With the policy Delete, the provider's claim goes first. With
// Retain, it stays, and so does the volume, until somebody deletes the volume.
func (s snapshot) end() plan {
	if s.remote != nil && s.volume.Spec.ClaimRef != nil && !persistentvolumeclaim.IsFor(s.volume, s.volume.Spec.ClaimRef.UID, s.remote) {
		s.remote = nil // Somebody has replaced it. The binding gets an event about it once the volume is gone.
	}
	deletes, leaving := s.volume.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete, !s.volume.DeletionTimestamp.IsZero()
	switch {
	case s.remote != nil && (deletes || s.remote.Annotations[v1alpha1.AnnotationKeptFor] == ""):
		return plan{}
	case leaving:
		return s.withoutFinalizer()
	case deletes && s.remote == nil:
		return plan{delete: s.volume}
	default:
		return plan{}
	}
}

func (s snapshot) withoutFinalizer() plan {
	after := s.volume.DeepCopy()
	after.Finalizers = slices.DeleteFunc(after.Finalizers, func(f string) bool { return f == v1alpha1.FinalizerSync+s.clusterID })
	if len(after.Finalizers) == len(s.volume.Finalizers) {
		return plan{}
	}
	return plan{after: after}
}

// nameOf returns the name of the consumer's volume for a claim.
func nameOf(clusterID string, claim types.UID) string { return field.VolumeName(clusterID, claim) }
