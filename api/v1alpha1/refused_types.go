package v1alpha1

// BindingWritesRefused reports that the consumer's API server refuses a write of the manager. It is
// present, on all bindings, only while a write is refused. If the write is for one virtual node, or for
// its Lease, only the binding of that node has it. Most often the manager runs as another account than
// the roles and policies expect. It is not part of Ready.
const BindingWritesRefused = "WritesRefused"

// ReasonForbiddenHere is the reason of BindingWritesRefused. The message names the write, the
// account, and the right or policy that refuses it. It is also the reason of remote namespaces that
// wait for such a write.
const ReasonForbiddenHere = "ForbiddenInConsumer"
