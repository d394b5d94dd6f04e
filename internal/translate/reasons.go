package translate

import "github.com/spillway-io/spillway/api/v1alpha1"

// PodReasons are all reasons with which v1alpha1.PodOffloaded can be False.
var PodReasons = []string{
	v1alpha1.ReasonNamespaceNotOffloaded,
	v1alpha1.ReasonNamespaceNotReady,
	v1alpha1.ReasonNameConflict,
	v1alpha1.ReasonNamespaceNeverOffloaded,
	v1alpha1.ReasonProviderAway,
	v1alpha1.ReasonRightsMissing,
	v1alpha1.ReasonClassNotMapped,
	v1alpha1.ReasonDeletionFailed,
	v1alpha1.ReasonReferenceNotFound,
	v1alpha1.ReasonReferenceNotSynced,
	v1alpha1.ReasonNetworkPolicyPending,
	v1alpha1.ReasonRejected,
	v1alpha1.ReasonUpdateRejected,
	v1alpha1.ReasonServerError,
	v1alpha1.ReasonOverBudget,
	v1alpha1.ReasonStatusRejected,
	v1alpha1.ReasonReplacing,
	v1alpha1.ReasonEndedTooSoon,
	ReasonStaticPod,
	ReasonDaemonSetPod,
	ReasonPodSecurity,
	ReasonResourceClaims,
	ReasonCredentials,
	ReasonVolumeNotPortable,
	ReasonVolumeNotAllowed,
	ReasonQuantity,
	v1alpha1.ReasonLimitsMissing,
	v1alpha1.ReasonLimitsInvalid,
	v1alpha1.ReasonLimitsForbidden,
	ReasonClaimNotBound,
	ReasonSyncNever,
	ReasonMetadataTooLarge,
}
