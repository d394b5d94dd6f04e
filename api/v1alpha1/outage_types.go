package v1alpha1

// OffloadingProvidersReachable is present, and False, only while a selected provider
// cannot be reached, or its ClusterBinding is paused. It is for teams, who cannot read
// ClusterBindings, and not part of OffloadingReady: what is in a provider goes on
// without it. Its reason is ReasonProviderUnreachable, and its message names each
// provider and why.
const OffloadingProvidersReachable = "ProvidersReachable"
