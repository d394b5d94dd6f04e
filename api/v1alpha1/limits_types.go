package v1alpha1

// LimitsName is the name of the ConfigMap in ProviderNamespace with which the provider's
// administrator limits what consumers may send. The provider's policies enforce these limits.
// Spillway reads the same limits for its reasons.
const LimitsName = "limits"

// BindingLimitsKnown reports whether the manager knows the limits of the provider. While it does
// not, the binding is not Ready, and Spillway sends no new pod. Running pods continue.
const BindingLimitsKnown = "LimitsKnown"

// Reasons of BindingLimitsKnown. All except the first are also reasons of PodOffloaded, for pods
// that wait for the limits.
const (
	// ReasonLimitsRead: the manager knows the limits and follows them.
	ReasonLimitsRead = "LimitsRead"
	// ReasonLimitsMissing: the provider has no ConfigMap spillway-provider/limits. Its policies
	// refuse every pod and namespace of a consumer.
	ReasonLimitsMissing = "LimitsMissing"
	// ReasonLimitsInvalid: the ConfigMap has an unknown key or an invalid value. The message names
	// the key. The provider's policies then refuse every pod and namespace of a consumer.
	ReasonLimitsInvalid = "LimitsInvalid"
	// ReasonLimitsForbidden: the credentials have no right to read the ConfigMap.
	ReasonLimitsForbidden = "LimitsForbidden"
)
