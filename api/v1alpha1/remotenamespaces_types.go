package v1alpha1

// ReasonNameNotAllowed: spec.remoteNamespaces of the ClusterBinding does not allow the strategy or
// the name of the remote namespace. The message names the rule.
const ReasonNameNotAllowed = "NameNotAllowed"

// RemoteNamespaces says which names teams may use for their remote namespaces. It prevents teams
// from using a name under which the provider's administrator may later install something.
type RemoteNamespaces struct {
	// strategies that NamespaceOffloadings may use with this provider. Defaults to DefaultName
	// alone, which gives each consumer its own names. From 1 to 3 items.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Strategies []NamespaceMappingStrategy `json:"strategies,omitempty"`
	// namePattern is a regular expression (RE2) that must match the whole name of a remote
	// namespace, with every strategy. At most 256 characters. If unset, every name matches.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self.matches(r'[a-z0-9.\\\\[]')",message="namePattern must be able to match a DNS label: lower-case letters, digits and '-'"
	// +kubebuilder:validation:XValidation:rule="'a'.matches(self) in [true, false] && !'default'.matches('^(?:' + self + ')$') && !'kube-system'.matches('^(?:' + self + ')$') && !'spillway-provider'.matches('^(?:' + self + ')$')",message="namePattern must be a regular expression (RE2)",messageExpression="'namePattern must not match default, kube-system or spillway-provider: that would allow too much'"
	NamePattern string `json:"namePattern,omitempty"`
}
