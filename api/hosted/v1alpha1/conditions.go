package v1alpha1

// Condition types of a HostedCluster.
const (
	// HostedReady summarises the others: the cluster runs, and can be managed.
	HostedReady = "Ready"
	// HostedCredentialsValid reports whether the cloud accepts the credentials.
	HostedCredentialsValid = "CredentialsValid"
	// HostedSynced reports whether the cluster could be read.
	HostedSynced = "Synced"
	// HostedUpdating reports whether the cloud is changing the cluster, whoever asked for it.
	HostedUpdating = "Updating"
	// HostedInSync reports whether the cloud has what the spec sets.
	HostedInSync = "InSync"
	// HostedBound reports on the ClusterBinding. Present only with spec.binding.
	HostedBound = "Bound"
)

// Reasons of HostedInSync.
const (
	// ReasonAgreed: all managed fields are the same on both sides.
	ReasonAgreed = "Agreed"
	// ReasonPushed: some are being sent to the cloud.
	ReasonPushed = "Pushed"
	// ReasonSuperseded: of some, the cloud's value holds, and the spec has another.
	ReasonSuperseded = "Superseded"
	// ReasonDrifted: some were changed in the cloud, and spec.sync.external is Report.
	ReasonDrifted = "Drifted"
	// ReasonConflict: some were changed on both sides; see status.conflicts.
	ReasonConflict = "Conflict"
	// ReasonImmutableDiffers: some differ that cannot be changed. The message names them.
	ReasonImmutableDiffers = "ImmutableDiffers"
)

// Reasons of HostedReady, beside those of the condition that is not as it should be.
const (
	// ReasonRuns: the cluster runs, and can be managed.
	ReasonRuns = "Runs"
	// ReasonPaused: spec.paused is set.
	ReasonPaused = "Paused"
	// ReasonCreating: the cluster is being created.
	ReasonCreating = "Creating"
	// ReasonDeleting: the object is being deleted, and so is the cluster in the cloud, if
	// deletionPolicy is Delete.
	ReasonDeleting = "Deleting"
	// ReasonNotMarked: the object is being deleted with deletionPolicy Delete, and waits,
	// because its cluster was not made for it.
	ReasonNotMarked = "NotMarked"
)

// Reasons of HostedCredentialsValid.
const (
	// ReasonAccepted: the cloud accepts them, and they have the rights that were needed.
	ReasonAccepted = "Accepted"
	// ReasonSecretUnusable: there is no such Secret, or it lacks a key.
	ReasonSecretUnusable = "SecretUnusable"
	// ReasonRejected: the cloud does not know them, or they have expired.
	ReasonRejected = "Rejected"
	// ReasonRightMissing: they lack a right, which the message names.
	ReasonRightMissing = "RightMissing"
)

// Reasons of HostedSynced.
const (
	// ReasonRead: the cluster was read.
	ReasonRead = "Read"
	// ReasonNotFound: the cloud does not have the cluster.
	ReasonNotFound = "NotFound"
	// ReasonReplaced: the cluster was deleted, and another one has its name.
	ReasonReplaced = "Replaced"
	// ReasonDuplicate: another HostedCluster is for the same cluster, and has it first. The
	// message names it.
	ReasonDuplicate = "Duplicate"
	// ReasonAlreadyExists: lifecycle.mode is Create, and there is a cluster of this name that
	// was not made for this object. It is left alone.
	ReasonAlreadyExists = "AlreadyExists"
	// ReasonIncomplete: a part of the cluster could not be read.
	ReasonIncomplete = "Incomplete"
	// ReasonThrottled: the cloud takes no more requests for now.
	ReasonThrottled = "Throttled"
	// ReasonRequestFailed: a request failed for another reason.
	ReasonRequestFailed = "RequestFailed"
	// ReasonInvalid: the status cannot be read back, or the cloud has what no field can hold.
	ReasonInvalid = "Invalid"
)

// Reasons of HostedUpdating.
const (
	// ReasonIdle: nobody changes the cluster.
	ReasonIdle = "Idle"
	// ReasonSending: a request is being made.
	ReasonSending = "Sending"
	// ReasonWaiting: an operation of ours is under way.
	ReasonWaiting = "Waiting"
	// ReasonForeignUpdate: somebody else's operation is under way. Until it is done, nothing
	// is sent, and nothing is taken over.
	ReasonForeignUpdate = "ForeignUpdate"
	// ReasonUpdateFailed: a request was refused, or an operation has failed. It is tried
	// again after an hour, or once the spec has changed.
	ReasonUpdateFailed = "UpdateFailed"
)

// FinalizerHosted keeps a HostedCluster until the cluster is deleted, or left, in the cloud.
const FinalizerHosted = "hosted.spillway.io/cluster"
