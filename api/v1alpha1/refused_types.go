package v1alpha1

// BindingWritesRefused reports that the consumer's API server refuses writes of the
// manager. It is present only while one is refused, on all bindings: most often
// the manager runs as another account than the roles and policies expect. It is not part
// of Ready.
const BindingWritesRefused = "WritesRefused"

// ReasonForbiddenHere is the reason of BindingWritesRefused, whose message says what was
// asked for, as whom, and which right or policy is in the way; and of remote namespaces
// that wait for such a write.
const ReasonForbiddenHere = "ForbiddenInConsumer"
