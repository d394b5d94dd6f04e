package v1alpha1

// Reasons of HostedBound, beside ReasonNotFound and ReasonReplaced, with which no token is
// renewed, and ReasonRequestFailed: the consumer's API server refuses what is written.
const (
	// ReasonBound: there is a ClusterBinding, and its Secret has a token that the cluster has
	// given out.
	ReasonBound = "Bound"
	// ReasonNameTaken: a ClusterBinding or a Secret of that name was not made for this
	// HostedCluster, and is left alone.
	ReasonNameTaken = "NameTaken"
	// ReasonNoAccess: there is no token, or it is due and cannot be renewed: the cloud's
	// identity gets no access to the cluster, or too little of it, or there is no client. The message says what was refused. It is tried again every minute; a token that is
	// valid already stays in use.
	ReasonNoAccess = "NoAccess"
	// ReasonUnbinding: the ClusterBinding is being deleted; its condition Drained says how
	// far that is.
	ReasonUnbinding = "Unbinding"
)

// What is on the ClusterBinding and the Secret of a HostedCluster.
const (
	// LabelHostedCluster has the UID of the HostedCluster that a ClusterBinding or a Secret
	// was made for. Nothing without it is touched.
	LabelHostedCluster = "hosted.spillway.io/cluster"
	// LabelCloud is eks, aks or gke, on the ClusterBinding and on its virtual node.
	LabelCloud = "hosted.spillway.io/cloud"
	// LabelVersion is the minor version of the cluster, such as 1.33, on the ClusterBinding.
	// It is not on the virtual node: a NamespaceOffloading that selected by it would lose its
	// remote namespaces in an upgrade.
	LabelVersion = "hosted.spillway.io/version"
	// AnnotationRenewAt is on the Secret, and says when its token is to be renewed.
	AnnotationRenewAt = "hosted.spillway.io/renew-at"
	// AnnotationPrepared is on the Secret, and is a digest of what was applied in the cluster,
	// and of where that is.
	AnnotationPrepared = "hosted.spillway.io/prepared"
)
