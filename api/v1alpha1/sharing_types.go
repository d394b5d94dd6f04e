package v1alpha1

// MaxRemoteClusterAuthorities is the maximum number of entries in status.remoteClusterAuthorities.
const MaxRemoteClusterAuthorities = 8

// BindingShared is present only if another ClusterBinding, with another clusterID, leads to the
// same provider, or to one that claims to be the same. If two lead to the same provider, it is True
// on the younger one. It is not part of BindingReady.
const BindingShared = "ProviderShared"

// Reasons of BindingShared.
const (
	// ReasonProviderSharedWith: the message names the older ClusterBinding. The virtual node offers
	// what the older one leaves. A namespace that selects both is offloaded only through the older
	// one.
	ReasonProviderSharedWith = "ProviderSharedWith"
	// ReasonIdentityNotProven (Unknown): the message names a ClusterBinding whose provider has the
	// same UID, but another certificate authority. It may be the same provider, or a cluster that
	// pretends to be it. Neither ClusterBinding takes anything from the other.
	ReasonIdentityNotProven = "IdentityNotProven"
)
