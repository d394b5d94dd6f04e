package v1alpha1

// BindingVersionSkew reports that the CustomResourceDefinitions in this cluster and the manager
// have different versions. It is present, on all bindings, only while they differ. It is not part
// of Ready.
const BindingVersionSkew = "VersionSkew"

// Reasons of BindingVersionSkew. The message names fields, and writes values as field=value.
const (
	// ReasonDefinitionsOlder: the definitions lack fields or values. What the manager writes to
	// these is lost.
	ReasonDefinitionsOlder = "DefinitionsOlder"
	// ReasonDefinitionsNewer: the definitions have fields or values that the manager does not know.
	// These have no effect.
	ReasonDefinitionsNewer = "DefinitionsNewer"
)

// ReasonHolderNotRecorded is a reason of BindingConnected: the ClusterBinding does not keep what
// the manager writes to status.holder. So the manager must not take the Lease in the provider.
const ReasonHolderNotRecorded = "HolderNotRecorded"
