package v1alpha1

// BindingLimited reports that the provider answers, but does not let Spillway read all kinds that
// it works with, provides no metrics of pods, or does not let it know what other pods request. It
// is present only meanwhile. Spillway neither writes nor deletes objects of such a kind. Everything that needs no such kind continues. It is
// not part of Ready.
const BindingLimited = "Limited"

// ReasonRightsMissing is the reason of BindingLimited whose message names the missing verbs and
// kinds. It is also the reason of PodOffloaded for a pod that needs an object of such a kind.
const ReasonRightsMissing = "RightsMissing"

// ReasonKindNotServed is the reason of BindingLimited if no right is missing, but the provider does
// not serve a kind that Spillway should send. Or it serves only another version of that kind. The
// message names the resources.
const ReasonKindNotServed = "KindNotServed"

// ReasonNamespaceMissing is the reason of an event about a ClusterBinding: the namespace of
// --cluster-profiles does not exist, or is being deleted. Such an event may also have one of the two
// reasons above, about the consumer.
const ReasonNamespaceMissing = "NamespaceMissing"

// ReasonMetricsMissing is the reason of BindingLimited if the manager can read all kinds, but not
// what the pods use. metrics-server in the consumer asked for metrics, and the provider returned
// none. Then kubectl top and HorizontalPodAutoscalers see nothing of its pods. The message says
// why.
const ReasonMetricsMissing = "MetricsMissing"

// BindingClockSkewed is present, and True, while the provider's clock differs from the manager's by
// more than five seconds. It ends when they differ by less than three seconds. Its reason is
// ReasonClockAhead or ReasonClockBehind. It is not part of Ready.
const BindingClockSkewed = "ClockSkewed"

// ReasonClockAhead is the reason of BindingClockSkewed if the provider's clock is ahead. Spillway
// replaces a time in the future in the status of a pod by the time at which the status arrived.
const ReasonClockAhead = "ClockAhead"

// ReasonClockBehind is the reason of BindingClockSkewed if the provider's clock is behind. Its pods
// seem older than they are, and count as available too early.
const ReasonClockBehind = "ClockBehind"
