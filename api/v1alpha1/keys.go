package v1alpha1

// Spillway writes these keys on everything that it creates in a provider.
const (
	// LabelManagedBy marks every object that Spillway creates in a provider. Its value is
	// ManagedBySpillway.
	LabelManagedBy = "spillway.io/managed-by"
	// ManagedBySpillway is the only value of LabelManagedBy.
	ManagedBySpillway = "spillway"
	// LabelOrigin holds the identity of the consumer: the UID of its kube-system namespace. It
	// distinguishes consumers that share a provider.
	LabelOrigin = "spillway.io/origin"
	// LabelBinding holds the clusterID of the ClusterBinding through which an object was created.
	LabelBinding = "spillway.io/binding"
	// LabelAccount holds the name of the ServiceAccount, in the provider's namespace
	// spillway-provider, that created an object. The provider's policies compare it with the
	// requesting account. Objects that were created with another kind of credentials lack it.
	LabelAccount = "spillway.io/account"

	// AnnotationLocalNamespace names the local namespace that a remote namespace represents, or
	// that contains the local object of a remote one.
	AnnotationLocalNamespace = "spillway.io/local-namespace"
	// AnnotationLocalName names the local object that a remote object represents.
	AnnotationLocalName = "spillway.io/local-name"
	// AnnotationLocalUID is the UID of the local object that a remote object represents. Spillway
	// changes a remote object only while the UID matches.
	AnnotationLocalUID = "spillway.io/local-uid"
	// AnnotationLocalLabels and AnnotationLocalAnnotations are on a remote pod that mounts all its
	// labels or annotations as a file. They hold the content of that file.
	AnnotationLocalLabels      = "spillway.io/local-labels"
	AnnotationLocalAnnotations = "spillway.io/local-annotations"

	// AnnotationCopied lists, on a remote object, the keys of the labels and annotations that
	// Spillway copied from the local object. If a listed key is removed locally, Spillway removes
	// it in the provider. Keys that the provider has added stay.
	AnnotationCopied = "spillway.io/copied"
	// AnnotationSpecHash, on a remote pod, holds a hash of each part of the spec that may change
	// while the pod runs, as Spillway last sent it. Spillway leaves later changes by the provider's
	// admission alone.
	AnnotationSpecHash = "spillway.io/spec-hash"
	// AnnotationLeftOut, on a remote NetworkPolicy, EndpointSlice, route or pod, says in words what
	// it lacks of the local object. Spillway compares it to report each change to the object's owner
	// only once. On a pod, it names what the pod requires of its node, and the provider cannot hold.
	AnnotationLeftOut = "spillway.io/left-out"

	// AnnotationTokenExpires and AnnotationTokenRenews are on a Secret with the API tokens of a
	// remote pod. They say when the first of the tokens expires, and when Spillway renews them.
	AnnotationTokenExpires = "spillway.io/token-expires"
	AnnotationTokenRenews  = "spillway.io/token-renews"
)

// Users write these keys on their pods, ConfigMaps, Secrets, PersistentVolumeClaims and
// PersistentVolumes.
const (
	// LabelSync, as a label or an annotation with the value SyncNever, keeps an object in the
	// consumer, even if a pod references it.
	LabelSync = "spillway.io/sync"
	// SyncNever is the only value of LabelSync.
	SyncNever = "never"
	// AnnotationPlacement, on a pod with the value PlacementPreferred, makes preferences of what the
	// pod requires of its place: topology spread, and affinity and anti-affinity to other pods. This
	// applies only in providers.
	AnnotationPlacement = "spillway.io/placement"
	// PlacementPreferred is the only value of AnnotationPlacement.
	PlacementPreferred = "Preferred"
	// AnnotationOffloadDaemonSet, with the value OffloadTrue, lets a pod of a DaemonSet run in the
	// provider. Without it, such pods are not offloaded.
	AnnotationOffloadDaemonSet = "spillway.io/offload-daemonset"
)

// Spillway writes these keys on objects of the consumer, or reads them there.
const (
	// LabelOffload on a Namespace, with the value OffloadTrue, asks for a
	// NamespaceOffloading with the defaults.
	LabelOffload = "spillway.io/offload"
	// OffloadTrue is the value of LabelOffload that opts a namespace in.
	OffloadTrue = "true"
	// LabelCreatedBy, with the value CreatedByNamespaceLabel, is on a NamespaceOffloading that
	// Spillway created because of LabelOffload. When LabelOffload is removed, Spillway deletes only
	// an offloading with this label.
	LabelCreatedBy = "spillway.io/created-by"
	// CreatedByNamespaceLabel is the value of LabelCreatedBy.
	CreatedByNamespaceLabel = "namespace-label"

	// LabelNodeType distinguishes virtual nodes from other nodes. Virtual nodes have it with the
	// value NodeTypeVirtual. Other nodes lack it.
	LabelNodeType = "spillway.io/node-type"
	// NodeTypeVirtual is the only value of LabelNodeType.
	NodeTypeVirtual = "virtual"
	// LabelReplica is on Leases in the manager's namespace. Through these Leases, replicas of the
	// manager that share the bindings find each other.
	LabelReplica = "spillway.io/replica"
	// LabelCluster, on a virtual node, holds the clusterID of its provider.
	LabelCluster = "spillway.io/cluster"
	// TopologyHost is a topology key that stands for the hosts inside a provider. No node of the
	// consumer has this label, so the consumer's scheduler takes no virtual node for one host. In the
	// provider, it becomes kubernetes.io/hostname. New pods of the strategy Remote get it in place of
	// kubernetes.io/hostname in their required anti-affinity.
	TopologyHost = "spillway.io/host"
	// TaintVirtualNode keeps pods that are not offloaded off virtual nodes. Its value is the
	// clusterID, its effect NoSchedule.
	TaintVirtualNode = "spillway.io/virtual-node"
	// TaintNoNewPods, with the effect NoSchedule, is on a virtual node whose provider accepts no
	// new pods. Its value is the reason of the condition BindingLimitsKnown.
	TaintNoNewPods = "spillway.io/no-new-pods"
	// AnnotationGroup is on a virtual node of a group of the provider's nodes. It has the keys and values of
	// their labels as JSON, with null for a label that they lack. Pods on the node are sent with exactly these.
	AnnotationGroup = "spillway.io/group"
	// AnnotationGroupEmptySince, on the virtual node of a group, says since when the provider has no node of
	// the group.
	AnnotationGroupEmptySince = "spillway.io/group-empty-since"
	// AnnotationCordoned, on a virtual node, says why the manager has cordoned it: CordonedEmpty or
	// CordonedReplaced. Without it, somebody else has.
	AnnotationCordoned = "spillway.io/cordoned"
	// AnnotationGroupGone is on a virtual node that somebody else has cordoned, and that the manager would
	// cordon as CordonedEmpty otherwise. The pods on the node are evicted, too.
	AnnotationGroupGone = "spillway.io/group-gone"
	// CordonedEmpty: the provider has no node of the group. The pods on the node are evicted.
	CordonedEmpty = "GroupEmpty"
	// CordonedReplaced: spec.virtualNode.groupBy asks for other nodes. The pods on the node stay.
	CordonedReplaced = "GroupReplaced"
	// LabelVolumePrefix and a type of volume, such as nfs, form the key of a label of virtual
	// nodes. The value VolumeAllowed says that the provider lets pods describe volumes of that type
	// themselves.
	LabelVolumePrefix = "spillway.io/volume-"
	// VolumeAllowed is the only value of such a label.
	VolumeAllowed = "allowed"

	// LabelRuntimeClassPrefix and the name of a RuntimeClass form the key of a label of virtual
	// nodes. The value RuntimeClassMapped says that the ClusterBinding maps that RuntimeClass. Pods
	// of an imported RuntimeClass run only on such nodes.
	LabelRuntimeClassPrefix = "runtimeclass.spillway.io/"
	// RuntimeClassMapped is the only value of such a label.
	RuntimeClassMapped = "mapped"
	// LabelStorageClassPrefix and the name of a StorageClass form the key of a label of virtual
	// nodes. The value StorageClassMapped says that the ClusterBinding maps that StorageClass. The
	// volumes of an imported StorageClass are created only for pods on such nodes.
	LabelStorageClassPrefix = "storageclass.spillway.io/"
	// StorageClassMapped is the only value of such a label.
	StorageClassMapped = "mapped"

	// AnnotationImportedFrom, on a class of the consumer, says from where a ClusterBinding has
	// imported it: the clusterID, and the name of the class in the provider.
	AnnotationImportedFrom = "spillway.io/imported-from"
	// IngressController is the spec.controller of imported IngressClasses. Nothing in the consumer
	// serves them.
	IngressController = "spillway.io/ingress"

	// AnnotationAddressesPrefix and a clusterID form the key of an annotation of a Service or an
	// Ingress. It holds the addresses that the provider reports for the object, separated by
	// commas. The object's status has the addresses from all providers.
	AnnotationAddressesPrefix = "addresses.spillway.io/"

	// AnnotationBreakGlass on a NamespaceMap, with a reason as its value, lets others than the
	// manager write its spec. The manager never sets it, and still restores the entries.
	AnnotationBreakGlass = "spillway.io/break-glass"

	// FinalizerOffloading keeps a NamespaceOffloading until its remote namespaces are gone.
	FinalizerOffloading = "offloading.spillway.io/remote-namespaces"
	// FinalizerBinding keeps a ClusterBinding until its provider is drained.
	FinalizerBinding = "offloading.spillway.io/drain"
)

const (
	// OffloadingName is the name of every NamespaceOffloading. There is one per namespace, and the
	// admission policy finds it by this name.
	OffloadingName = "offloading"
	// DefaultKubeconfigKey is the key in the kubeconfig Secret if the ClusterBinding names none.
	DefaultKubeconfigKey = "kubeconfig"
	// VirtualNodePrefix and the clusterID form the name of a virtual node.
	VirtualNodePrefix = "spillway-"
)
