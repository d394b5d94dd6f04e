package v1alpha1

// What Spillway writes on everything that it creates in a provider.
const (
	// LabelManagedBy marks every object that Spillway creates in a provider.
	// Its value is ManagedBySpillway.
	LabelManagedBy = "spillway.io/managed-by"
	// ManagedBySpillway is the only value of LabelManagedBy.
	ManagedBySpillway = "spillway"
	// LabelOrigin carries the identity of the consumer: the UID of its
	// kube-system namespace. Two consumers that share a provider are told
	// apart by it.
	LabelOrigin = "spillway.io/origin"
	// LabelBinding carries the clusterID of the ClusterBinding that an object
	// was created through.
	LabelBinding = "spillway.io/binding"
	// LabelAccount carries the name of the ServiceAccount, in the namespace
	// spillway-provider of the provider, by which an object was created. The
	// provider's policies compare it with who asks. What was created before
	// there was this label lacks it, and stays as it is.
	LabelAccount = "spillway.io/account"

	// AnnotationLocalNamespace names the consumer's namespace that a remote
	// object stands for, or that the object it stands for lives in.
	AnnotationLocalNamespace = "spillway.io/local-namespace"
	// AnnotationLocalName names the consumer's object that a remote one stands for.
	AnnotationLocalName = "spillway.io/local-name"
	// AnnotationLocalUID is the UID of the consumer's object that a remote one
	// stands for. A remote object is only touched while it matches.
	AnnotationLocalUID = "spillway.io/local-uid"

	// AnnotationCopied lists, on a remote object, the keys of the labels and
	// annotations that were copied from the local one. A key that is listed and
	// gone locally is removed; others that the provider has added stay.
	AnnotationCopied = "spillway.io/copied"
	// AnnotationSpecHash is on a remote pod: a hash of each part of the spec that
	// may change while a pod runs, as it was sent last. The provider's admission
	// may have changed the spec since, and is left alone.
	AnnotationSpecHash = "spillway.io/spec-hash"
)

// What users write on their pods, ConfigMaps, Secrets, PersistentVolumeClaims
// and PersistentVolumes.
const (
	// LabelSync, as a label or as an annotation with the value SyncNever, keeps
	// an object in the consumer, whatever references it.
	LabelSync = "spillway.io/sync"
	// SyncNever is the only value of LabelSync.
	SyncNever = "never"
	// AnnotationOffloadDaemonSet on a pod of a DaemonSet, with the value
	// OffloadTrue, has it run in the provider all the same.
	AnnotationOffloadDaemonSet = "spillway.io/offload-daemonset"
)

// What Spillway writes on objects of the consumer.
const (
	// LabelOffload on a Namespace, with the value OffloadTrue, asks for a
	// NamespaceOffloading with the defaults.
	LabelOffload = "spillway.io/offload"
	// OffloadTrue is the value of LabelOffload that opts a namespace in.
	OffloadTrue = "true"
	// LabelCreatedBy is on a NamespaceOffloading that was made because of
	// LabelOffload, with the value CreatedByNamespaceLabel. Only such a one is
	// deleted when the label goes.
	LabelCreatedBy = "spillway.io/created-by"
	// CreatedByNamespaceLabel is the value of LabelCreatedBy.
	CreatedByNamespaceLabel = "namespace-label"

	// LabelNodeType tells virtual nodes, which carry it with the value
	// NodeTypeVirtual, from all others, which lack it.
	LabelNodeType = "spillway.io/node-type"
	// NodeTypeVirtual is the only value of LabelNodeType.
	NodeTypeVirtual = "virtual"
	// LabelCluster carries, on a virtual node, the clusterID of its provider.
	LabelCluster = "spillway.io/cluster"
	// TaintVirtualNode keeps pods that were not offloaded off virtual nodes.
	// Its value is the clusterID, its effect NoSchedule.
	TaintVirtualNode = "spillway.io/virtual-node"

	// AnnotationBreakGlass on a NamespaceMap, with a reason as its value, lets
	// others than the manager write its spec. The manager never sets it, and puts
	// the entries back all the same.
	AnnotationBreakGlass = "spillway.io/break-glass"

	// FinalizerOffloading keeps a NamespaceOffloading until the remote
	// namespaces that it asked for are gone.
	FinalizerOffloading = "offloading.spillway.io/remote-namespaces"
	// FinalizerBinding keeps a ClusterBinding until its provider is drained.
	FinalizerBinding = "offloading.spillway.io/drain"
)

const (
	// OffloadingName is the name that every NamespaceOffloading has: there is
	// one per namespace, and the admission policy finds it by this name.
	OffloadingName = "offloading"
	// DefaultKubeconfigKey is the key of a kubeconfig Secret that is read
	// when a ClusterBinding names none.
	DefaultKubeconfigKey = "kubeconfig"
	// VirtualNodePrefix and the clusterID make the name of a virtual node.
	VirtualNodePrefix = "spillway-"
)
