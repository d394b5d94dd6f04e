package v1alpha1

// ReasonClassNotMapped: the pod names a RuntimeClass that spec.classes of the ClusterBinding
// does not map to one of the provider.
const ReasonClassNotMapped = "ClassNotMapped"

// ClassKind is a kind of classes that objects of the consumer name.
// +kubebuilder:validation:Enum=PriorityClass;RuntimeClass
type ClassKind string

const (
	// ClassPriority is for spec.priorityClassName of pods. Pods of a class that is not mapped
	// are sent without one.
	ClassPriority ClassKind = "PriorityClass"
	// ClassRuntime is for spec.runtimeClassName of pods. Pods of a class that is not mapped
	// are not sent: another runtime may isolate them less.
	ClassRuntime ClassKind = "RuntimeClass"
)

// ClassMapping says which class of the provider stands for one of the consumer.
//
// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self.name).hasValue()",fieldPath=".name",message="name must be the name of a class: a DNS subdomain"
// +kubebuilder:validation:XValidation:rule="!format.dns1123Subdomain().validate(self.remoteName).hasValue()",fieldPath=".remoteName",message="remoteName must be the name of a class: a DNS subdomain"
// +kubebuilder:validation:XValidation:rule="self.kind != 'PriorityClass' || !self.name.startsWith('system-')",fieldPath=".name",message="name must not begin with 'system-': such PriorityClasses are for the consumer's own pods"
// +kubebuilder:validation:XValidation:rule="self.kind != 'PriorityClass' || !self.remoteName.startsWith('system-')",fieldPath=".remoteName",message="remoteName must not begin with 'system-': such PriorityClasses are for the provider's own pods"
type ClassMapping struct {
	// kind of the classes: PriorityClass or RuntimeClass.
	// +required
	Kind ClassKind `json:"kind,omitempty"`
	// name of the class in the consumer. It need not exist there.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// remoteName is the name of the class in the provider, which may be the same.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	RemoteName string `json:"remoteName,omitempty"`
}
