package v1alpha1

// MaxRemoteClusterAuthorities bounds status.remoteClusterAuthorities.
const MaxRemoteClusterAuthorities = 8

// BindingShared exists only if another ClusterBinding, under another clusterID, leads
// to the same provider, or to one that says it is the same. It is True on the younger
// one of two that lead to the same. It is not part of BindingReady.
const BindingShared = "ProviderShared"

// The reasons of BindingShared.
const (
	// ReasonProviderSharedWith: the message names the older ClusterBinding. The virtual
	// node offers what that one leaves, and of the namespaces that both are selected
	// for it has none.
	ReasonProviderSharedWith = "ProviderSharedWith"
	// ReasonIdentityNotProven (Unknown): the message names a ClusterBinding whose provider
	// has the same UID, and another certificate authority. Whether it is the same provider
	// or one that pretends to be it is not known. Neither takes anything from the other.
	ReasonIdentityNotProven = "IdentityNotProven"
)
