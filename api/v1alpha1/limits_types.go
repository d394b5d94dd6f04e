package v1alpha1

// LimitsName is the name of the ConfigMap in ProviderNamespace by which the
// administrator of a provider limits what its consumers may send. The provider's
// policies apply it, and Spillway's reasons follow it.
const LimitsName = "limits"

// BindingLimitsKnown reports whether the limits of the provider are known. While they
// are not, the binding is not Ready, and no pod is sent there; running pods go on.
const BindingLimitsKnown = "LimitsKnown"

// Reasons of BindingLimitsKnown. All but the first are also reasons of PodOffloaded,
// for pods that wait for the limits.
const (
	// ReasonLimitsRead: they are known, and followed.
	ReasonLimitsRead = "LimitsRead"
	// ReasonLimitsMissing: the provider has no ConfigMap spillway-provider/limits. Its
	// policies refuse everything that they apply to.
	ReasonLimitsMissing = "LimitsMissing"
	// ReasonLimitsInvalid: the ConfigMap has an unknown key or an invalid value. The
	// message names the key; the provider's policies refuse the same.
	ReasonLimitsInvalid = "LimitsInvalid"
	// ReasonLimitsForbidden: the credentials have no right to read the ConfigMap.
	ReasonLimitsForbidden = "LimitsForbidden"
)
