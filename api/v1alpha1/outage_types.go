package v1alpha1

// OffloadingProvidersReachable exists, and is False, only while a provider that is
// selected cannot be reached, or its ClusterBinding is paused. It is there for
// teams, who cannot read ClusterBindings, and no part of OffloadingReady: what is
// in a provider goes on without it. Its reason is ReasonProviderUnreachable, and
// its message names each provider and why.
const OffloadingProvidersReachable = "ProvidersReachable"
