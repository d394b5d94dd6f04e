package v1alpha1

// BindingLimited tells that the provider answers, but does not let Spillway read
// all kinds that it works with. It exists only while a right is missing. What
// needs no such kind goes on as usual; of the others nothing is written, and
// nothing is taken away. It is not part of Ready.
const BindingLimited = "Limited"

// ReasonRightsMissing is that of BindingLimited, whose message names the verbs and
// kinds, and of what waits for such a kind: PodOffloaded of a pod that needs an
// object of it.
const ReasonRightsMissing = "RightsMissing"
