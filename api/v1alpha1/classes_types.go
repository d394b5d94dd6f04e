package v1alpha1

import corev1 "k8s.io/api/core/v1"

// ReasonClassNotMapped: the pod names a RuntimeClass, the Ingress an IngressClass, or the route
// Gateways, that spec.classes of the ClusterBinding does not map to one of the provider.
const ReasonClassNotMapped = "ClassNotMapped"

// BindingClassesReady reports whether the provider has the IngressClasses, RuntimeClasses and
// PriorityClasses to which spec.classes maps. It is present only if spec.classes names any. It
// is not part of Ready.
const BindingClassesReady = "ClassesReady"

// Reasons of BindingClassesReady.
const (
	// ReasonClassesThere: the provider has all of them.
	ReasonClassesThere = "ClassesThere"
	// ReasonClassMissing: the provider has not; the message names them. A pod or an Ingress that
	// would have such a class there is not sent; its condition, or event, has this reason, too. What
	// is there stays.
	ReasonClassMissing = "ClassMissing"
	// ReasonClassRefused: a RuntimeClass to be imported has an overhead that is more than 4
	// CPUs or 16 GiB of memory, or less than nothing.
	ReasonClassRefused = "ClassRefused"
	// ReasonClassUnreadable: the provider does not let us read all of them. They count as
	// there.
	ReasonClassUnreadable = "ClassUnreadable"
)

// ClassKind is a kind of classes that objects of the consumer name.
// +kubebuilder:validation:Enum=LoadBalancer;IngressClass;Gateway;RuntimeClass;PriorityClass
type ClassKind string

const (
	// ClassGateway is for spec.parentRefs of HTTPRoutes and GRPCRoutes. Only those that name a
	// Gateway that is mapped are sent.
	ClassGateway ClassKind = "Gateway"
	// ClassIngress is for spec.ingressClassName of Ingresses. Only those of a class that is
	// mapped are sent.
	ClassIngress ClassKind = "IngressClass"
	// ClassLoadBalancer is for spec.loadBalancerClass of Services. One of a class that is
	// mapped gets its load balancer in the provider. Others are of type ClusterIP there.
	ClassLoadBalancer ClassKind = "LoadBalancer"
	// ClassPriority is for spec.priorityClassName of pods. Pods of a class that is not mapped
	// are sent without one.
	ClassPriority ClassKind = "PriorityClass"
	// ClassRuntime is for spec.runtimeClassName of pods. Pods of a class that is not mapped
	// are not sent: another runtime may isolate them less.
	ClassRuntime ClassKind = "RuntimeClass"
)

// ClassMapping says which class of the provider stands for one of the consumer.
//
// +kubebuilder:validation:XValidation:rule="self.kind == 'LoadBalancer' || has(self.remoteName)",fieldPath=".remoteName",reason=FieldValueRequired,message="remoteName may be left out with kind LoadBalancer only: that stands for the provider's default"
// +kubebuilder:validation:XValidation:rule="self.kind in ['LoadBalancer', 'Gateway'] || !format.dns1123Subdomain().validate(self.name).hasValue()",fieldPath=".name",message="name must be the name of a class: a DNS subdomain"
// +kubebuilder:validation:XValidation:rule="self.kind in ['LoadBalancer', 'Gateway'] || !has(self.remoteName) || !format.dns1123Subdomain().validate(self.remoteName).hasValue()",fieldPath=".remoteName",message="remoteName must be the name of a class: a DNS subdomain"
// +kubebuilder:validation:XValidation:rule="self.kind != 'LoadBalancer' || !format.qualifiedName().validate(self.name).hasValue()",fieldPath=".name",message="name must be a loadBalancerClass, such as example.com/public"
// +kubebuilder:validation:XValidation:rule="self.kind != 'LoadBalancer' || !has(self.remoteName) || !format.qualifiedName().validate(self.remoteName).hasValue()",fieldPath=".remoteName",message="remoteName must be a loadBalancerClass, such as example.com/public"
// +kubebuilder:validation:XValidation:rule="self.kind != 'Gateway' || self.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",fieldPath=".name",message="name must be the namespace and the name of a Gateway, such as gateways/public"
// +kubebuilder:validation:XValidation:rule="self.kind != 'Gateway' || !has(self.remoteName) || self.remoteName.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",fieldPath=".remoteName",message="remoteName must be the namespace and the name of a Gateway, such as gateways/public"
// +kubebuilder:validation:XValidation:rule="self.kind != 'PriorityClass' || !self.name.startsWith('system-')",fieldPath=".name",message="name must not begin with 'system-': such PriorityClasses are for the consumer's own pods"
// +kubebuilder:validation:XValidation:rule="self.kind != 'PriorityClass' || !has(self.remoteName) || !self.remoteName.startsWith('system-')",fieldPath=".remoteName",message="remoteName must not begin with 'system-': such PriorityClasses are for the provider's own pods"
// +kubebuilder:validation:XValidation:rule="!has(self.import) || !self.import || !(self.kind in ['LoadBalancer', 'Gateway'])",fieldPath=".import",message="import is for IngressClasses, RuntimeClasses and PriorityClasses: a loadBalancerClass is no object, and a Gateway has an owner"
// +kubebuilder:validation:XValidation:rule="!has(self.import) || !self.import || self.kind != 'RuntimeClass' || size(self.name) <= 63",fieldPath=".name",message="name of a RuntimeClass that is imported must have at most 63 characters: it is part of a label of the virtual node"
type ClassMapping struct {
	// kind of the classes: Gateway, IngressClass, LoadBalancer, PriorityClass or RuntimeClass.
	// +required
	Kind ClassKind `json:"kind,omitempty"`
	// name of the class in the consumer. It need not exist there. A loadBalancerClass, or
	// an IngressClass, must be one that nothing in the consumer serves. Of a Gateway it is the
	// namespace and the name: gateways/public.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Name string `json:"name,omitempty"`
	// remoteName is the name of the class in the provider, which may be the same. Required,
	// but for a LoadBalancer: without it, the Service in the provider has no
	// loadBalancerClass, and gets the load balancer that is the default there.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	RemoteName string `json:"remoteName,omitempty"`
	// import has the class of that name made in the consumer, once the provider has remoteName.
	// It goes with the last ClusterBinding that imports it. One that is there already is left
	// alone. Not for a LoadBalancer or a Gateway.
	// +optional
	Import bool `json:"import,omitempty"`
}

// ClassStatus is a class of the provider that the ClusterBinding imports.
type ClassStatus struct {
	// kind of the class.
	// +required
	Kind ClassKind `json:"kind,omitempty"`
	// remoteName is its name in the provider.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	RemoteName string `json:"remoteName,omitempty"`
	// value of a PriorityClass. Here it is at most 1000, and at least 0.
	// +optional
	Value *int32 `json:"value,omitempty"`
	// podOverhead is what a pod of a RuntimeClass takes of cpu and memory besides its
	// containers.
	// +optional
	PodOverhead corev1.ResourceList `json:"podOverhead,omitempty"`
}

// HostPattern is hosts that Ingresses and routes may have: a name; or "*." and a domain, for every name
// below it, of one label or several, and for "*." and such a name; or "*", for every host.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self == '*' || !format.dns1123Subdomain().validate(self.startsWith('*.') ? self.substring(2) : self).hasValue()",message="a host must be a DNS name in lower case, '*.' and such a name, or '*'"
type HostPattern string
