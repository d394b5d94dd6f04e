package v1alpha1

// BindingLimited reports that the provider answers, but does not let Spillway read all
// kinds that it works with, or gives no metrics of pods. It is present only meanwhile.
// Whatever needs no such kind goes on as usual; objects of such a kind are neither written
// nor removed. It is not part of Ready.
const BindingLimited = "Limited"

// ReasonRightsMissing is the reason of BindingLimited, whose message names the verbs
// and kinds, and of what waits for such a kind: PodOffloaded of a pod that needs an
// object of it.
const ReasonRightsMissing = "RightsMissing"

// ReasonKindNotServed is the reason of BindingLimited if no right is missing, but the
// provider does not serve a kind of which something is to be sent, or not in the version that
// is needed. The message names the resources.
const ReasonKindNotServed = "KindNotServed"

// ReasonMetricsMissing is the reason of BindingLimited if all can be read but what pods
// use: metrics were asked for, by metrics-server, and the provider gave none. Then kubectl
// top and HorizontalPodAutoscalers see nothing of its pods. The message says why.
const ReasonMetricsMissing = "MetricsMissing"

// BindingClockSkewed is True, and present, while the provider's clock is more than five seconds
// ahead of the manager's clock, or behind it, until they are less than three seconds apart. Its
// reason is ReasonClockAhead or ReasonClockBehind. It is not part of Ready.
const BindingClockSkewed = "ClockSkewed"

// ReasonClockAhead is the reason of BindingClockSkewed if the provider's clock is ahead. The status
// of a pod here has no time in the future: such a time becomes the time at which it came.
const ReasonClockAhead = "ClockAhead"

// ReasonClockBehind is the reason of BindingClockSkewed if the provider's clock is behind. Its pods
// seem older than they are, and count as available too early.
const ReasonClockBehind = "ClockBehind"
