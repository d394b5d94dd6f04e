package v1alpha1

// Names of what is created in the consumer for volumes that are in a provider.
const (
	// StorageDriver is the provisioner of imported StorageClasses, and the CSI driver of the
	// PersistentVolumes that stand for volumes in a provider. No program serves it: the manager
	// creates these volumes, and no node of the consumer mounts them.
	StorageDriver = "csi.spillway.io"
	// VolumePrefix, the clusterID, a hyphen and the UID of the claim form the name of such a
	// PersistentVolume.
	VolumePrefix = "spillway-"
)

// Keys of claims and volumes.
const (
	// AnnotationProvider on a PersistentVolumeClaim names a clusterID. A claim whose StorageClass
	// has the volumeBindingMode Immediate gets its volume in that provider.
	AnnotationProvider = "spillway.io/provider"
	// AnnotationRemoteClaim, on a PersistentVolume that stands for a volume in a provider, names
	// the claim there, as namespace/name.
	AnnotationRemoteClaim = "spillway.io/remote-claim"
	// AnnotationKeptFor is on a claim in the provider whose local claim is deleted, but whose volume
	// is retained. Its value is the name of the local PersistentVolume.
	AnnotationKeptFor = "spillway.io/kept-for"
	// AnnotationLoseVolumes, with the value LoseVolumes, on a ClusterBinding or a
	// NamespaceOffloading that is being deleted, allows the deletion of the volumes in the provider.
	// Without it, the deletion waits while it would lose one.
	AnnotationLoseVolumes = "spillway.io/lose-volumes"
	// AnnotationKeepVolumes, with the value KeepVolumes, on a NamespaceOffloading that is being
	// deleted, ends a deletion that waits because of volumes. The remote namespaces with volumes
	// stay. A NamespaceOffloading that is created later uses them again.
	AnnotationKeepVolumes = "spillway.io/keep-volumes"
	// LabelVolume, on a claim in the provider, says that the provider creates its volume. Such a claim
	// may hold data that exists nowhere else. Copies of claims whose volume is the consumer's lack it.
	LabelVolume = "spillway.io/volume"
	// VolumeProvided is the only value of LabelVolume.
	VolumeProvided = "provided"
	// LoseVolumes is the only value of AnnotationLoseVolumes.
	LoseVolumes = "true"
	// KeepVolumes is the only value of AnnotationKeepVolumes.
	KeepVolumes = "true"
)

// Reasons about claims whose volumes are in a provider.
const (
	// ReasonVolumesRemain: the deletion of a ClusterBinding or a NamespaceOffloading would lose the
	// volumes that the message names. It waits for AnnotationLoseVolumes. It is a reason of
	// BindingDrained, and of OffloadingReady.
	ReasonVolumesRemain = "VolumesRemain"
	// ReasonVolumeLost: the claim's volume in the provider is gone, or is another one. Spillway does
	// not create a new one in its place.
	ReasonVolumeLost = "VolumeLost"
	// ReasonVolumeUnclaimed: a claim in the provider has a volume, and the consumer has neither the
	// claim for which it was created nor a PersistentVolume that stands for it. Spillway keeps it. It
	// is a reason of events about ClusterBindings.
	ReasonVolumeUnclaimed = "VolumeUnclaimed"
	// ReasonVolumeTooSmall: the provider's volume is smaller than the claim asks for.
	ReasonVolumeTooSmall = "VolumeTooSmall"
	// ReasonProviderNotChosen: the claim's StorageClass has the volumeBindingMode Immediate, and the
	// claim has no AnnotationProvider that names a provider.
	ReasonProviderNotChosen = "ProviderNotChosen"
	// ReasonDataSourceNotSent: the claim has a data source or a selector. Spillway sends neither.
	ReasonDataSourceNotSent = "DataSourceNotSent"
	// ReasonStorageNotAllowed: the provider's limits do not list the claim's StorageClass or
	// VolumeAttributesClass.
	ReasonStorageNotAllowed = "StorageNotAllowed"
)
