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
