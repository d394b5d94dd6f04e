package v1alpha1

// Reasons of HostedBound. ReasonNotFound and ReasonReplaced are reasons, too: the operator then
// renews no token. ReasonRequestFailed means that the consumer's API server refuses what the
// operator writes.
const (
	// ReasonBound: the ClusterBinding exists, and its Secret has a token that the cluster has
	// issued.
	ReasonBound = "Bound"
	// ReasonNameTaken: a ClusterBinding or a Secret of that name exists, but was not created for
	// this HostedCluster. Spillway leaves it alone.
	ReasonNameTaken = "NameTaken"
	// ReasonNoAccess: the operator has no token, or its token is due and cannot be renewed. The
	// identity in the cloud gets no access to the cluster, or too little, or there is no client.
	// The message says what was refused. The operator retries every minute. A token that is still
	// valid stays in use.
	ReasonNoAccess = "NoAccess"
	// ReasonUnbinding: the ClusterBinding is being deleted. Its condition Drained shows the
	// progress.
	ReasonUnbinding = "Unbinding"
)

// Keys on the ClusterBinding and the Secret of a HostedCluster.
const (
	// LabelHostedCluster is the UID of the HostedCluster for which a ClusterBinding or a Secret was
	// created. The operator changes no object without it.
	LabelHostedCluster = "hosted.spillway.io/cluster"
	// LabelCloud is eks, aks or gke. It is on the ClusterBinding and on its virtual node.
	LabelCloud = "hosted.spillway.io/cloud"
	// LabelVersion is the minor version of the cluster, such as 1.33. It is on the ClusterBinding,
	// but not on the virtual node: a NamespaceOffloading that selects by it would lose its remote
	// namespaces in an upgrade.
	LabelVersion = "hosted.spillway.io/version"
	// AnnotationRenewAt, on the Secret, says when the operator should renew the token.
	AnnotationRenewAt = "hosted.spillway.io/renew-at"
	// AnnotationPrepared, on the Secret, is a digest of the manifests that the operator applied in
	// the cluster, and of the cluster's address.
	AnnotationPrepared = "hosted.spillway.io/prepared"
)
