package v1alpha1

// LimitsName is the name of the ConfigMap in ProviderNamespace by which the
// administrator of a provider limits what its consumers may send. The provider's
// policies go by it, and so does what Spillway says.
const LimitsName = "limits"

// BindingLimitsKnown reports whether the limits of the provider are known. While they
// are not, the binding is not Ready, and no pod is sent there; those that run go on.
const BindingLimitsKnown = "LimitsKnown"

// Reasons of BindingLimitsKnown. Those but the first are also what the condition
// Offloaded of a pod says that waits for that.
const (
	// ReasonLimitsRead: they are known, and followed.
	ReasonLimitsRead = "LimitsRead"
	// ReasonLimitsMissing: there is no ConfigMap spillway-provider/limits in the
	// provider. Its policies refuse all that they would be about.
	ReasonLimitsMissing = "LimitsMissing"
	// ReasonLimitsInvalid: something in the ConfigMap means nothing. The message
	// names the key; the provider's policies refuse the same.
	ReasonLimitsInvalid = "LimitsInvalid"
	// ReasonLimitsForbidden: the credentials have no right to read the ConfigMap.
	ReasonLimitsForbidden = "LimitsForbidden"
)
