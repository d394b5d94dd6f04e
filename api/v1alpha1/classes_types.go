package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ReasonClassNotMapped: spec.classes of the ClusterBinding does not map the class that an object
// names. That is the RuntimeClass of a pod, the IngressClass of an Ingress, the Gateways of a route,
// or the StorageClass of a PersistentVolumeClaim.
const ReasonClassNotMapped = "ClassNotMapped"

// BindingClassesReady reports whether the provider has the classes to which spec.classes maps,
// except load balancers and Gateways. It is present only if spec.classes names such a class. It is
// not part of Ready.
const BindingClassesReady = "ClassesReady"

// Reasons of BindingClassesReady.
const (
	// ReasonClassesThere: the provider has all of them.
	ReasonClassesThere = "ClassesThere"
	// ReasonClassMissing: the provider lacks the classes that the message names. Spillway does not
	// send a pod, an Ingress or a claim that would have such a class in the provider. The pod's
	// condition, or the event of the Ingress or the claim, has this reason, too. Existing remote
	// objects stay.
	ReasonClassMissing = "ClassMissing"
	// ReasonClassRefused: a RuntimeClass to be imported has an overhead of more than 4 CPUs or 16
	// GiB of memory, or a negative one.
	ReasonClassRefused = "ClassRefused"
	// ReasonClassUnreadable: the provider does not let the manager read all classes. The manager
	// assumes that those exist.
	ReasonClassUnreadable = "ClassUnreadable"
)

// ClassKind is a kind of class that objects of the consumer name.
// +kubebuilder:validation:Enum=LoadBalancer;IngressClass;Gateway;RuntimeClass;PriorityClass;StorageClass;VolumeAttributesClass
type ClassKind string

const (
	// ClassGateway is for spec.parentRefs of HTTPRoutes and GRPCRoutes. Spillway sends only routes
	// that name a mapped Gateway.
	ClassGateway ClassKind = "Gateway"
	// ClassIngress is for spec.ingressClassName of Ingresses. Spillway sends only Ingresses of a
	// mapped class.
	ClassIngress ClassKind = "IngressClass"
	// ClassLoadBalancer is for spec.loadBalancerClass of Services. A Service of a mapped class gets
	// its load balancer in the provider. Other Services have the type ClusterIP in the provider.
	ClassLoadBalancer ClassKind = "LoadBalancer"
	// ClassPriority is for spec.priorityClassName of pods. If the class is not mapped, Spillway
	// sends the pod without one.
	ClassPriority ClassKind = "PriorityClass"
	// ClassRuntime is for spec.runtimeClassName of pods. Spillway does not send pods of a class
	// that is not mapped: another runtime may isolate them less.
	ClassRuntime ClassKind = "RuntimeClass"
	// ClassStorage is for spec.storageClassName of PersistentVolumeClaims. The provider creates the
	// volumes of claims of a mapped class.
	ClassStorage ClassKind = "StorageClass"
	// ClassVolumeAttributes is for spec.volumeAttributesClassName of PersistentVolumeClaims whose
	// StorageClass is mapped.
	ClassVolumeAttributes ClassKind = "VolumeAttributesClass"
)

// ClassMapping maps a class of the consumer to a class of the provider.
//
// +kubebuilder:validation:XValidation:rule="self.kind == 'LoadBalancer' || has(self.remoteName)",fieldPath=".remoteName",reason=FieldValueRequired,message="remoteName may be omitted only with kind LoadBalancer: it then means the provider's default"
// +kubebuilder:validation:XValidation:rule="self.kind in ['LoadBalancer', 'Gateway'] || !format.dns1123Subdomain().validate(self.name).hasValue()",fieldPath=".name",message="name must be the name of a class: a DNS subdomain"
// +kubebuilder:validation:XValidation:rule="self.kind in ['LoadBalancer', 'Gateway'] || !has(self.remoteName) || !format.dns1123Subdomain().validate(self.remoteName).hasValue()",fieldPath=".remoteName",message="remoteName must be the name of a class: a DNS subdomain"
// +kubebuilder:validation:XValidation:rule="self.kind != 'LoadBalancer' || !format.qualifiedName().validate(self.name).hasValue()",fieldPath=".name",message="name must be a loadBalancerClass, such as example.com/public"
// +kubebuilder:validation:XValidation:rule="self.kind != 'LoadBalancer' || !has(self.remoteName) || !format.qualifiedName().validate(self.remoteName).hasValue()",fieldPath=".remoteName",message="remoteName must be a loadBalancerClass, such as example.com/public"
// +kubebuilder:validation:XValidation:rule="self.kind != 'Gateway' || self.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",fieldPath=".name",message="name must be the namespace and the name of a Gateway, such as gateways/public"
// +kubebuilder:validation:XValidation:rule="self.kind != 'Gateway' || !has(self.remoteName) || self.remoteName.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?/[a-z0-9]([-.a-z0-9]*[a-z0-9])?$')",fieldPath=".remoteName",message="remoteName must be the namespace and the name of a Gateway, such as gateways/public"
// +kubebuilder:validation:XValidation:rule="self.kind != 'PriorityClass' || !self.name.startsWith('system-')",fieldPath=".name",message="name must not begin with 'system-': such PriorityClasses are for the consumer's own pods"
// +kubebuilder:validation:XValidation:rule="self.kind != 'PriorityClass' || !has(self.remoteName) || !self.remoteName.startsWith('system-')",fieldPath=".remoteName",message="remoteName must not begin with 'system-': such PriorityClasses are for the provider's own pods"
// +kubebuilder:validation:XValidation:rule="!has(self.import) || !self.import || !(self.kind in ['LoadBalancer', 'Gateway'])",fieldPath=".import",message="import is not for a LoadBalancer or a Gateway: a loadBalancerClass is no object, and Gateways have owners"
// +kubebuilder:validation:XValidation:rule="!has(self.import) || !self.import || !(self.kind in ['RuntimeClass', 'StorageClass']) || size(self.name) <= 63",fieldPath=".name",message="name of a RuntimeClass or StorageClass that is imported must have at most 63 characters: it is part of a label of the virtual node"
type ClassMapping struct {
	// kind of the two classes: Gateway, IngressClass, LoadBalancer, PriorityClass, RuntimeClass,
	// StorageClass or VolumeAttributesClass.
	// +required
	Kind ClassKind `json:"kind,omitempty"`
	// name of the class in the consumer. The class need not exist. For a LoadBalancer or an
	// IngressClass, nothing in the consumer may serve it. For a Gateway, the name is namespace and
	// name, such as gateways/public.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Name string `json:"name,omitempty"`
	// remoteName is the name of the class in the provider. It may be the same as name. Required,
	// except for a LoadBalancer. Without it, the remote Service has no loadBalancerClass, and gets
	// the provider's default load balancer.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	RemoteName string `json:"remoteName,omitempty"`
	// import creates the class in the consumer, under that name, once the provider has remoteName.
	// Spillway deletes it with the last ClusterBinding that imports it, and leaves an existing
	// class of that name alone. Not for a LoadBalancer or a Gateway. Defaults to false.
	// +optional
	Import bool `json:"import,omitempty"`
}

// ClassStatus is a class of the provider that the ClusterBinding imports. With spec.import.csi, each
// StorageClass that it maps is listed, too.
type ClassStatus struct {
	// kind of the class.
	// +required
	Kind ClassKind `json:"kind,omitempty"`
	// remoteName is the name of the class in the provider.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	RemoteName string `json:"remoteName,omitempty"`
	// value of a PriorityClass. The imported class has this value, limited to the range from 0 to
	// 1000.
	// +optional
	Value *int32 `json:"value,omitempty"`
	// podOverhead is the cpu and memory that each pod of a RuntimeClass needs in addition to its
	// containers.
	// +optional
	PodOverhead corev1.ResourceList `json:"podOverhead,omitempty"`
	// reclaimPolicy of a StorageClass says what happens to a volume when its claim is deleted:
	// Delete or Retain. The imported class has the same.
	// +optional
	// +kubebuilder:validation:Enum=Delete;Retain
	ReclaimPolicy corev1.PersistentVolumeReclaimPolicy `json:"reclaimPolicy,omitempty"`
	// volumeBindingMode of a StorageClass says when the provider creates a volume: Immediate, or
	// WaitForFirstConsumer. The imported class always has WaitForFirstConsumer.
	// +optional
	// +kubebuilder:validation:Enum=Immediate;WaitForFirstConsumer
	VolumeBindingMode storagev1.VolumeBindingMode `json:"volumeBindingMode,omitempty"`
	// capacity is the room for volumes of a StorageClass, as the CSI driver of the provider reports it,
	// rounded down. Present only with spec.import.csi, and if the driver reports it.
	// +optional
	Capacity *resource.Quantity `json:"capacity,omitempty"`
	// maximumVolumeSize is the largest volume of a StorageClass for which the provider has room,
	// rounded down. Present together with capacity.
	// +optional
	MaximumVolumeSize *resource.Quantity `json:"maximumVolumeSize,omitempty"`
	// allowVolumeExpansion of a StorageClass says whether claims may grow. The imported class has
	// the same. Defaults to false.
	// +optional
	AllowVolumeExpansion bool `json:"allowVolumeExpansion,omitempty"`
}

// HostPattern says which hosts Ingresses and routes may have. It is a host name, or "*" for every
// host, or "*." and a domain. The last one stands for all names below the domain, at any depth, and
// for wildcards of such names.
//
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:XValidation:rule="self == '*' || !format.dns1123Subdomain().validate(self.startsWith('*.') ? self.substring(2) : self).hasValue()",message="a host must be a DNS name in lower case, '*.' and such a name, or '*'"
type HostPattern string
