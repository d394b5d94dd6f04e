package v1alpha1

// BindingShared exists only if an older ClusterBinding leads to the same provider
// under another clusterID. It is not part of BindingReady.
const BindingShared = "ProviderShared"

// ReasonProviderSharedWith is the reason of BindingShared; the message names the
// older ClusterBinding. The virtual node offers what that one leaves, and of the
// namespaces that both are selected for it has none.
const ReasonProviderSharedWith = "ProviderSharedWith"
