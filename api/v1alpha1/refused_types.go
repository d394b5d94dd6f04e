package v1alpha1

// BindingWritesRefused reports that the consumer's API server refuses a write of the manager. It is
// present only while it refuses one: on all bindings, or, for a write to a virtual node or its Lease,
// on the binding of that node. Most often the manager runs as another
// account than the roles and policies expect. It is not part of Ready.
const BindingWritesRefused = "WritesRefused"

// ReasonForbiddenHere is the reason of BindingWritesRefused. The message names the write, the
// account, and the right or policy that refuses it. It is also the reason of remote namespaces that
// wait for such a write.
const ReasonForbiddenHere = "ForbiddenInConsumer"
