package v1alpha1

// ReasonAccountNotAllowed: the provider's limits do not list the ServiceAccount to which
// spec.serviceAccounts of the ClusterBinding maps the pod's. It is a reason of PodOffloaded.
const ReasonAccountNotAllowed = "AccountNotAllowed"

// AllNamespaces is the namespace of a ServiceAccountMapping for every namespace.
const AllNamespaces = "*"

// ServiceAccountMapping maps a ServiceAccount of the consumer to a ServiceAccount of the provider.
type ServiceAccountMapping struct {
	// namespace of the ServiceAccount in the consumer, or * for every namespace. An item with the
	// namespace takes precedence over one with *.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self == '*' || !format.dns1123Label().validate(self).hasValue()",message="namespace must be the name of a namespace, or *"
	Namespace string `json:"namespace,omitempty"`
	// name of the ServiceAccount in the consumer.
	// +required
	Name ServiceAccountName `json:"name,omitempty"`
	// remoteName is the name of the ServiceAccount in the remote namespace. The provider's
	// administrator creates it there, and allows it in the provider's limits (serviceAccounts). It
	// may be the same as name. The ServiceAccount default needs no entry in the limits.
	// +required
	RemoteName ServiceAccountName `json:"remoteName,omitempty"`
}
