package v1alpha1

// BindingVersionSkew reports that this cluster has CustomResourceDefinitions of another version
// than the manager's. It is present only while they differ, on all bindings. It is not part of
// Ready.
const BindingVersionSkew = "VersionSkew"

// Reasons of BindingVersionSkew. The message names fields, and values as field=value.
const (
	// ReasonDefinitionsOlder: the definitions lack fields or values. What the manager writes
	// there is lost.
	ReasonDefinitionsOlder = "DefinitionsOlder"
	// ReasonDefinitionsNewer: the definitions have fields or values that the manager does not
	// know. They have no effect.
	ReasonDefinitionsNewer = "DefinitionsNewer"
)

// ReasonHolderNotRecorded is a reason of BindingConnected: the ClusterBinding does not keep
// what the manager writes to status.holder, so that the manager must not take the Lease in the
// provider.
const ReasonHolderNotRecorded = "HolderNotRecorded"
