package persistentvolumeclaim

import (
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// IsProvidedBy reports whether the provider whose virtual node is called node creates, or has created, the volume of a claim
// that has none in the consumer. Kubernetes names the driver on the claim when it wants a volume: with the
// binding mode WaitForFirstConsumer once a node is chosen, otherwise at once. Then the claim's owner chooses the
// provider. Only metadata is read.
func IsProvidedBy(local metav1.Object, node string) bool {
	all := local.GetAnnotations()
	asked := AskedNode(local)
	return all[field.AnnotationStorageProvisioner] == v1alpha1.StorageDriver && all[field.AnnotationBindCompleted] == "" && asked != "" && v1alpha1.SameProvider(asked, node)
}

// AskedNode returns the node for which a claim wants a volume, or "": the one that the scheduler has chosen, or the
// virtual node of the provider that the claim's owner has chosen.
func AskedNode(local metav1.Object) string {
	all := local.GetAnnotations()
	if selected := all[field.AnnotationSelectedNode]; selected != "" {
		return selected
	}
	if provider := all[v1alpha1.AnnotationProvider]; provider != "" {
		return v1alpha1.VirtualNodePrefix + provider
	}
	return ""
}

// isInProvider reports whether a claim is bound to a volume that stands for one in some provider.
func isInProvider(claim *corev1.PersistentVolumeClaim) bool {
	return strings.HasPrefix(claim.Spec.VolumeName, v1alpha1.VolumePrefix) && strings.HasSuffix(claim.Spec.VolumeName, "-"+string(claim.UID))
}

// isOfAnother reports whether a claim is bound to a volume that was created for another claim, and stands for one in
// some provider. An administrator has freed the volume, whose policy was Retain.
func isOfAnother(claim *corev1.PersistentVolumeClaim) bool {
	return ofClaim.MatchString(claim.Spec.VolumeName) && !isInProvider(claim)
}

// ofClaim matches what field.VolumeName returns.
var ofClaim = regexp.MustCompile(`^` + v1alpha1.VolumePrefix + `.+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// clusterIDOf returns the clusterID of the provider of a virtual node.
func clusterIDOf(node string) string { return v1alpha1.ClusterIDOf(node) }

// volumeOf returns the name of the volume in the consumer that stands for the volume of a claim in the provider.
func volumeOf(claim provenance.Local, around decide.Inputs) string {
	return field.VolumeName(clusterIDOf(around.Node), claim.UID)
}

// providedClaim returns the claim with which the provider creates the volume of local, or why there is none.
func providedClaim(local *corev1.PersistentVolumeClaim, t field.Target, around decide.Inputs) (*corev1.PersistentVolumeClaim, *field.Problem) {
	title := "PersistentVolumeClaim " + local.Name
	if refusal := field.NeverSynced("PersistentVolumeClaim", local); refusal != nil {
		return nil, refusal
	}
	if refusal := quantityRefusal(local); refusal != nil {
		return nil, refusal
	}
	if found := providedPlan.Violation(&local.Spec, field.PodSecurityBaseline); found != nil {
		return nil, found.Refusal(title + ": spec")
	}
	allowed := providedPlan.Allowed(&local.Spec)
	remote := &corev1.PersistentVolumeClaim{ObjectMeta: field.Metadata(local, t), Spec: *allowed.DeepCopy()}
	remote.Labels[v1alpha1.LabelVolume] = v1alpha1.VolumeProvided
	class, refusal := mapped(title+": spec.storageClassName", v1alpha1.ClassStorage, StorageClass(local), around)
	if refusal != nil {
		return nil, refusal
	}
	remote.Spec.StorageClassName = &class
	switch its, refusal := attributes(local, around); {
	case refusal != nil:
		return nil, refusal
	case its != "":
		remote.Spec.VolumeAttributesClassName = &its
	}
	return remote, nil
}

// attributes returns the provider's VolumeAttributesClass for a claim, or why the claim's is not sent. It returns ""
// if the claim has none.
func attributes(local *corev1.PersistentVolumeClaim, around decide.Inputs) (string, *field.Problem) {
	name := ptr.Deref(local.Spec.VolumeAttributesClassName, "")
	if name == "" {
		return "", nil
	}
	return mapped("PersistentVolumeClaim "+local.Name+": spec.volumeAttributesClassName", v1alpha1.ClassVolumeAttributes, name, around)
}

// Notice implements decide.Noticing: it says why the VolumeAttributesClass is not sent. The volume stays as it is,
// and pods go on with it.
func (translation) Notice(local, _ *corev1.PersistentVolumeClaim, around decide.Inputs) *field.Problem {
	_, refusal := attributes(local, around)
	if refusal == nil || refusal.Reason == v1alpha1.ReasonReferenceNotSynced || around.Limits != nil && refusal == around.Limits.Unknown {
		return nil // It is not known yet.
	}
	return refusal
}

// mapped returns the provider's class, or why a claim of the consumer's class is not sent.
func mapped(path string, kind v1alpha1.ClassKind, name string, around decide.Inputs) (string, *field.Problem) {
	remote, is := around.Classes.Of(kind, name)
	if !is {
		return "", field.Refuse(v1alpha1.ReasonClassNotMapped, "%s: spec.classes of the ClusterBinding does not map the %s %q", path, kind, name)
	}
	if refusal := field.Absent(path, kind, remote, around.Has); refusal != nil {
		return "", refusal
	}
	switch limits := around.Limits; {
	case limits == nil:
		return "", field.Refuse(v1alpha1.ReasonReferenceNotSynced, "%s: it is not known yet what the provider allows", path)
	case limits.Unknown != nil:
		return "", limits.Unknown
	case !field.ListsOrAll(allowed(limits, kind), remote):
		return "", field.Refuse(v1alpha1.ReasonStorageNotAllowed, "%s: the provider's limits do not list its %s %q: ask the provider's administrator to add it to %s",
			path, kind, remote, limitOf(kind))
	}
	return remote, nil
}

func allowed(limits *field.Limits, kind v1alpha1.ClassKind) []string {
	if kind == v1alpha1.ClassVolumeAttributes {
		return limits.VolumeAttributesClasses
	}
	return limits.StorageClasses
}

func limitOf(kind v1alpha1.ClassKind) string {
	if kind == v1alpha1.ClassVolumeAttributes {
		return field.LimitVolumeAttributes
	}
	return field.LimitStorageClasses
}

// Holds implements decide.Holding.
func (translation) Holds(remote *corev1.PersistentVolumeClaim) bool { return field.HoldsData(remote) }

// Follow implements decide.Holding: the request grows, as far as the local claim's. A local claim that is not bound
// to the volume that stands for the remote one cannot be used by a pod.
func (translation) Follow(local, remote *corev1.PersistentVolumeClaim, around decide.Inputs) (*corev1.PersistentVolumeClaim, *field.Problem) {
	followed := remote.DeepCopy()
	name := volumeOf(provenance.Local{UID: local.UID}, around)
	switch {
	case local.Spec.VolumeName == "" || local.Status.Phase != corev1.ClaimBound:
		return followed, NotBound(local)
	case local.Spec.VolumeName != name:
		return followed, field.Refuse(v1alpha1.ReasonVolumeLost, "PersistentVolumeClaim %s is bound to PersistentVolume %s, and the provider has created another volume for it, with claim %s there",
			local.Name, local.Spec.VolumeName, remote.Name)
	}
	switch volume, known := around.Volume(name); {
	case !known:
		return followed, field.Refuse(v1alpha1.ReasonReferenceNotSynced, "PersistentVolume %s has not been read yet", name)
	case volume == nil:
		return followed, field.Refuse(v1alpha1.ReasonVolumeLost, "PersistentVolume %s is gone, or lacks the label %s%s; claim %s in the provider still has the data",
			name, v1alpha1.LabelSyncedTo, clusterIDOf(around.Node), remote.Name)
	case !IsFor(volume, local.UID, remote):
		return followed, field.Refuse(v1alpha1.ReasonVolumeLost, "PersistentVolume %s stands for another claim than claim %s in the provider, which somebody has replaced", name, remote.Name)
	}
	if class, _ := attributes(local, around); class != "" && remote.Status.Phase == corev1.ClaimBound {
		followed.Spec.VolumeAttributesClassName = &class
	}
	if asked := local.Spec.Resources.Requests[corev1.ResourceStorage]; asked.Cmp(remote.Spec.Resources.Requests[corev1.ResourceStorage]) > 0 && remote.Spec.VolumeName != "" {
		followed.Spec.Resources.Requests[corev1.ResourceStorage] = asked
	}
	return followed, nil
}

// IsFor reports whether a volume of the consumer stands for the volume of a claim in the provider, and is for the
// local claim with that UID.
func IsFor(volume *corev1.PersistentVolume, local types.UID, remote *corev1.PersistentVolumeClaim) bool {
	ref, source := volume.Spec.ClaimRef, volume.Spec.CSI
	return ref != nil && ref.UID == local && source != nil && source.Driver == v1alpha1.StorageDriver && source.VolumeHandle == string(remote.UID)
}

// Fate implements decide.Holding. The volume in the consumer is the record of what the data's owner wants: its
// reclaim policy counts once Kubernetes says that it is Released. Kubernetes has then asked the API server, and
// not a cache, whether the claim is gone. Before a claim has such a volume, no pod has used it.
func (translation) Fate(local, remote *corev1.PersistentVolumeClaim, around decide.Inputs) decide.Fate {
	of := provenance.LocalOf(remote)
	volume, known := around.Volume(volumeOf(of, around))
	switch {
	case !known:
		return decide.Fate{}
	case volume == nil:
		return withoutRecord(local, remote, around)
	case local != nil:
		return decide.Fate{Released: true}
	case volume.Status.Phase != corev1.VolumeReleased || !IsFor(volume, of.UID, remote):
		return decide.Fate{}
	case volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete:
		return decide.Fate{KeptFor: volume.Name}
	default:
		return decide.Fate{Deleted: true, Confirms: []decide.Object{volume}}
	}
}

// withoutRecord is the fate of a remote claim without a volume in the consumer. A remote claim that the provider has
// not bound has no data. One that is bound may have some, if the consumer was restored since: then nothing says what
// its owner wants, so it stays.
func withoutRecord(local, remote *corev1.PersistentVolumeClaim, around decide.Inputs) decide.Fate {
	of, empty := provenance.LocalOf(remote), remote.Spec.VolumeName == ""
	name := volumeOf(of, around)
	none := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	switch {
	case local == nil && empty:
		gone := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name, UID: of.UID}}
		return decide.Fate{Deleted: true, Confirms: []decide.Object{gone, none}}
	case local == nil:
		return decide.Fate{}
	case empty && local.Spec.VolumeName == "" && !local.DeletionTimestamp.IsZero(), empty && local.Spec.VolumeName != "" && local.Spec.VolumeName != name:
		return decide.Fate{Deleted: true, Confirms: []decide.Object{local, none}}
	default:
		return decide.Fate{Released: true, Elsewhere: isElsewhere(local, name)}
	}
}

// isElsewhere reports whether Kubernetes has bound a claim to another volume. If only the claim's metadata is known,
// it reports whether the claim is bound at all. A volume that the claim's owner has named may not fit.
func isElsewhere(local *corev1.PersistentVolumeClaim, volume string) bool {
	return local.Annotations[field.AnnotationBindCompleted] != "" && local.Spec.VolumeName != volume
}

// lost says why no second claim is created in the provider for a claim that had one.
func lost(local *corev1.PersistentVolumeClaim) *field.Problem {
	problem := field.Problemf(v1alpha1.ReasonVolumeLost,
		"PersistentVolumeClaim %s: the provider no longer has the claim with its data, and Spillway does not create an empty one; delete the PersistentVolumeClaim to start anew", local.Name)
	return &problem
}

var _ decide.Holding[*corev1.PersistentVolumeClaim] = translation{}
