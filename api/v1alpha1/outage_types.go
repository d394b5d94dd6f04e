package v1alpha1

// OffloadingProvidersReachable is present, and False, only while a selected provider cannot be
// reached, or its ClusterBinding is paused. It informs teams, who cannot read ClusterBindings. It
// is not part of OffloadingReady, because remote pods continue while their provider is away. Its
// reason is ReasonProviderUnreachable. Its message names each provider and the cause.
const OffloadingProvidersReachable = "ProvidersReachable"
