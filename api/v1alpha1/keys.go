package v1alpha1

// Written by Spillway on everything that it creates in a provider.
const (
	// LabelManagedBy marks every object that Spillway creates in a provider.
	// Its value is ManagedBySpillway.
	LabelManagedBy = "spillway.io/managed-by"
	// ManagedBySpillway is the only value of LabelManagedBy.
	ManagedBySpillway = "spillway"
	// LabelOrigin carries the identity of the consumer: the UID of its kube-system
	// namespace. It tells apart two consumers that share a provider.
	LabelOrigin = "spillway.io/origin"
	// LabelBinding carries the clusterID of the ClusterBinding that an object
	// was created through.
	LabelBinding = "spillway.io/binding"
	// LabelAccount carries the name of the ServiceAccount, in the provider's namespace
	// spillway-provider, that created an object. The provider's policies compare it with
	// the requesting account. What was created with credentials of another kind lacks it.
	LabelAccount = "spillway.io/account"

	// AnnotationLocalNamespace names the consumer's namespace that a remote object
	// represents, or that contains the object it represents.
	AnnotationLocalNamespace = "spillway.io/local-namespace"
	// AnnotationLocalName names the consumer's object that a remote one represents.
	AnnotationLocalName = "spillway.io/local-name"
	// AnnotationLocalUID is the UID of the consumer's object that a remote one represents.
	// A remote object is only touched while it matches.
	AnnotationLocalUID = "spillway.io/local-uid"
	// AnnotationLocalLabels and AnnotationLocalAnnotations, on a remote pod with a file that
	// shows all of them, have the content of that file.
	AnnotationLocalLabels      = "spillway.io/local-labels"
	AnnotationLocalAnnotations = "spillway.io/local-annotations"

	// AnnotationCopied lists, on a remote object, the keys of the labels and annotations
	// that were copied from the local one. A listed key that is gone locally is removed;
	// keys that the provider has added stay.
	AnnotationCopied = "spillway.io/copied"
	// AnnotationSpecHash, on a remote pod, is a hash of each part of the spec that may
	// change while a pod runs, as last sent. The provider's admission may have changed the
	// spec since; that change is left alone.
	AnnotationSpecHash = "spillway.io/spec-hash"
	// AnnotationLeftOut, on a remote NetworkPolicy, EndpointSlice or route, says what it lacks
	// of the local one, for people, and so that its owner is told of each change once.
	AnnotationLeftOut = "spillway.io/left-out"
)

// Written by users on their pods, ConfigMaps, Secrets, PersistentVolumeClaims and
// PersistentVolumes.
const (
	// LabelSync, as a label or as an annotation with the value SyncNever, keeps
	// an object in the consumer, whatever references it.
	LabelSync = "spillway.io/sync"
	// SyncNever is the only value of LabelSync.
	SyncNever = "never"
	// AnnotationOffloadDaemonSet on a pod of a DaemonSet, with the value OffloadTrue, runs
	// it in the provider all the same.
	AnnotationOffloadDaemonSet = "spillway.io/offload-daemonset"
)

// Written by Spillway on objects of the consumer, or read from them.
const (
	// LabelOffload on a Namespace, with the value OffloadTrue, asks for a
	// NamespaceOffloading with the defaults.
	LabelOffload = "spillway.io/offload"
	// OffloadTrue is the value of LabelOffload that opts a namespace in.
	OffloadTrue = "true"
	// LabelCreatedBy is on a NamespaceOffloading that was created because of LabelOffload,
	// with the value CreatedByNamespaceLabel. Only such a one is deleted when the label
	// goes.
	LabelCreatedBy = "spillway.io/created-by"
	// CreatedByNamespaceLabel is the value of LabelCreatedBy.
	CreatedByNamespaceLabel = "namespace-label"

	// LabelNodeType distinguishes virtual nodes, which carry it with the value
	// NodeTypeVirtual, from all others, which lack it.
	LabelNodeType = "spillway.io/node-type"
	// NodeTypeVirtual is the only value of LabelNodeType.
	NodeTypeVirtual = "virtual"
	// LabelReplica is on the Leases, in the manager's namespace, by which replicas
	// of the manager that share the bindings know of each other.
	LabelReplica = "spillway.io/replica"
	// LabelCluster carries, on a virtual node, the clusterID of its provider.
	LabelCluster = "spillway.io/cluster"
	// TaintVirtualNode keeps pods that were not offloaded off virtual nodes.
	// Its value is the clusterID, its effect NoSchedule.
	TaintVirtualNode = "spillway.io/virtual-node"
	// TaintNoNewPods, with the effect NoSchedule, is on a virtual node whose provider takes
	// no new pods at all. Its value is the reason: one of BindingLimitsKnown.
	TaintNoNewPods = "spillway.io/no-new-pods"
	// LabelVolumePrefix and a type of volumes, such as nfs, are the key of a label of a
	// virtual node whose provider lets pods describe volumes of that type themselves, with
	// the value VolumeAllowed.
	LabelVolumePrefix = "spillway.io/volume-"
	// VolumeAllowed is the only value of such a label.
	VolumeAllowed = "allowed"

	// LabelRuntimeClassPrefix and the name of a RuntimeClass are the key of a label of a virtual
	// node whose ClusterBinding maps that RuntimeClass, with the value RuntimeClassMapped. Pods
	// of an imported RuntimeClass run on such nodes alone.
	LabelRuntimeClassPrefix = "runtimeclass.spillway.io/"
	// RuntimeClassMapped is the only value of such a label.
	RuntimeClassMapped = "mapped"

	// AnnotationImportedFrom on a class of the consumer says that a ClusterBinding has
	// imported it, and from where: the clusterID, and the name of the class there.
	AnnotationImportedFrom = "spillway.io/imported-from"
	// IngressController is the spec.controller of imported IngressClasses. Nothing in the
	// consumer serves them.
	IngressController = "spillway.io/ingress"

	// AnnotationAddressesPrefix and a clusterID are the key of an annotation of a Service or
	// an Ingress with the addresses that the provider reports for it, separated by commas.
	// The object's status has those of all providers.
	AnnotationAddressesPrefix = "addresses.spillway.io/"

	// AnnotationBreakGlass on a NamespaceMap, with a reason as its value, lets others than
	// the manager write its spec. The manager never sets it, and still puts the entries
	// back.
	AnnotationBreakGlass = "spillway.io/break-glass"

	// FinalizerOffloading keeps a NamespaceOffloading until its remote namespaces are
	// gone.
	FinalizerOffloading = "offloading.spillway.io/remote-namespaces"
	// FinalizerBinding keeps a ClusterBinding until its provider is drained.
	FinalizerBinding = "offloading.spillway.io/drain"
)

const (
	// OffloadingName is the name of every NamespaceOffloading: there is one per namespace,
	// and the admission policy finds it by this name.
	OffloadingName = "offloading"
	// DefaultKubeconfigKey is the key of a kubeconfig Secret if a ClusterBinding names
	// none.
	DefaultKubeconfigKey = "kubeconfig"
	// VirtualNodePrefix and the clusterID form the name of a virtual node.
	VirtualNodePrefix = "spillway-"
)
