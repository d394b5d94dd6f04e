package v1alpha1

// MaxRemoteClusterAuthorities is the most entries in status.remoteClusterAuthorities.
const MaxRemoteClusterAuthorities = 8

// BindingShared is present only if another ClusterBinding, with another clusterID,
// leads to the same provider, or to one that claims to be the same. It is True on the
// younger of two that lead to the same one. It is not part of BindingReady.
const BindingShared = "ProviderShared"

// Reasons of BindingShared.
const (
	// ReasonProviderSharedWith: the message names the older ClusterBinding. The virtual
	// node offers what that one leaves, and gets none of the namespaces that select both.
	ReasonProviderSharedWith = "ProviderSharedWith"
	// ReasonIdentityNotProven (Unknown): the message names a ClusterBinding whose provider
	// has the same UID, but another certificate authority. It may be the same provider or
	// one that pretends to be it. Neither takes anything from the other.
	ReasonIdentityNotProven = "IdentityNotProven"
)
