package v1alpha1

// Condition types of a HostedCluster.
const (
	// HostedReady summarises the other conditions: the cluster runs, and Spillway can manage it.
	HostedReady = "Ready"
	// HostedCredentialsValid reports whether the cloud accepts the credentials.
	HostedCredentialsValid = "CredentialsValid"
	// HostedSynced reports whether the operator could read the cluster.
	HostedSynced = "Synced"
	// HostedUpdating reports whether the cluster is being changed, by Spillway or by somebody else.
	HostedUpdating = "Updating"
	// HostedInSync reports whether the cloud has the values that the spec sets.
	HostedInSync = "InSync"
	// HostedBound reports on the ClusterBinding. It is present only with spec.binding.
	HostedBound = "Bound"
)

// Reasons of HostedInSync.
const (
	// ReasonAgreed: all managed fields are the same on both sides.
	ReasonAgreed = "Agreed"
	// ReasonPushed: Spillway is sending some fields to the cloud.
	ReasonPushed = "Pushed"
	// ReasonSuperseded: for some fields, the cloud's value applies, and the spec has another one.
	ReasonSuperseded = "Superseded"
	// ReasonDrifted: some fields were changed in the cloud, and the policy for them is Report.
	ReasonDrifted = "Drifted"
	// ReasonConflict: some fields were changed on both sides. See status.conflicts.
	ReasonConflict = "Conflict"
	// ReasonImmutableDiffers: some fields differ that cannot be changed. The message names them.
	ReasonImmutableDiffers = "ImmutableDiffers"
)

// Reasons of HostedReady. It may also have the reason of the condition that keeps the cluster from
// being ready.
const (
	// ReasonRuns: the cluster runs, and Spillway can manage it.
	ReasonRuns = "Runs"
	// ReasonUnhealthy: the cloud says that something is wrong with the cluster or a pool. Spillway
	// still reads and changes it.
	ReasonUnhealthy = "Unhealthy"
	// ReasonPaused: spec.paused is set.
	ReasonPaused = "Paused"
	// ReasonCreating: the cluster is being created.
	ReasonCreating = "Creating"
	// ReasonDeleting: the object is being deleted. The cluster in the cloud is being deleted, too,
	// if deletionPolicy is Delete.
	ReasonDeleting = "Deleting"
	// ReasonNotMarked: the object is being deleted with deletionPolicy Delete, but its cluster was
	// not created for it. The deletion waits.
	ReasonNotMarked = "NotMarked"
)

// Reasons of HostedCredentialsValid.
const (
	// ReasonAccepted: the cloud accepts the credentials, and they had every right that was needed.
	ReasonAccepted = "Accepted"
	// ReasonSecretUnusable: the Secret does not exist, or lacks a key.
	ReasonSecretUnusable = "SecretUnusable"
	// ReasonRejected: the cloud does not know the credentials, or they have expired.
	ReasonRejected = "Rejected"
	// ReasonRightMissing: the credentials lack a right. The message names it.
	ReasonRightMissing = "RightMissing"
)

// Reasons of HostedSynced.
const (
	// ReasonRead: the operator has read the cluster.
	ReasonRead = "Read"
	// ReasonNotFound: the cloud does not have the cluster.
	ReasonNotFound = "NotFound"
	// ReasonReplaced: the cluster was deleted, and another cluster now has its name.
	ReasonReplaced = "Replaced"
	// ReasonDuplicate: another HostedCluster is for the same cluster, and was first. The message
	// names it.
	ReasonDuplicate = "Duplicate"
	// ReasonAlreadyExists: lifecycle.mode is Create, but a cluster of this name exists that was not
	// created for this object. Spillway leaves it alone.
	ReasonAlreadyExists = "AlreadyExists"
	// ReasonIncomplete: the operator could not read a part of the cluster.
	ReasonIncomplete = "Incomplete"
	// ReasonThrottled: the cloud accepts no more requests for now.
	ReasonThrottled = "Throttled"
	// ReasonRequestFailed: a request failed for another reason.
	ReasonRequestFailed = "RequestFailed"
	// ReasonInvalid: the operator cannot read the status that it wrote, or the cloud has a value
	// that no field can hold.
	ReasonInvalid = "Invalid"
)

// Reasons of HostedUpdating.
const (
	// ReasonIdle: nobody is changing the cluster.
	ReasonIdle = "Idle"
	// ReasonSending: the operator is sending a request.
	ReasonSending = "Sending"
	// ReasonWaiting: an operation that Spillway started is in progress.
	ReasonWaiting = "Waiting"
	// ReasonForeignUpdate: an operation that somebody else started is in progress. Until it ends,
	// Spillway sends nothing to the cloud, and takes over no values from it.
	ReasonForeignUpdate = "ForeignUpdate"
	// ReasonUpdateFailed: the cloud refused requests, or operations failed. The message has all of
	// them. The operator sends each one again at its retryAt in status.operations, within an hour.
	// Other requests do not wait for them.
	ReasonUpdateFailed = "UpdateFailed"
	// ReasonBusy: the cloud refused requests because it was doing something else, because it throttles
	// requests, or because the cluster had changed since the operator read it. The operator sends them again soon. It is
	// also a reason in status.operations.
	ReasonBusy = "Busy"
)

// FinalizerHosted keeps a HostedCluster until the operator has deleted the cluster in the cloud, or
// left it there.
const FinalizerHosted = "hosted.spillway.io/cluster"
