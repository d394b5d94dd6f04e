package service

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// defaultBalancer is the name, in limits, of a provider's load balancers for Services without a class.
const defaultBalancer = "default"

// mostSourceRanges is how many loadBalancerSourceRanges a Service with a load balancer in a provider may have.
// The consumer's caches keep one more, and drop the rest.
const mostSourceRanges = 64

// balanced reports whether a Service gets a load balancer in a provider with these limits and
// classes.
func balanced(local *corev1.Service, limits *field.Limits, classes field.Classes) bool {
	return field.HasClass(local) && unbalanced(local, limits, classes) == ""
}

// unbalanced says why a Service of type LoadBalancer gets no load balancer in the provider, or returns
// "". One reason is source ranges that are not sent: without them, the load balancer would be open to
// everybody.
func unbalanced(local *corev1.Service, limits *field.Limits, classes field.Classes) string {
	class := ptr.Deref(local.Spec.LoadBalancerClass, "")
	remote, mapped := classes.Of(v1alpha1.ClassLoadBalancer, class)
	_, annotated := local.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]
	switch {
	case class == "":
		return "spec.type is LoadBalancer, without a loadBalancerClass"
	case !mapped:
		return "spec.loadBalancerClass: the ClusterBinding does not map LoadBalancer " + class + " (spec.classes)"
	case limits == nil || !field.ListsOrAll(limits.LoadBalancerClasses, cmp.Or(remote, defaultBalancer)):
		return "spec.loadBalancerClass: the provider does not allow the class " + cmp.Or(remote, defaultBalancer) + " (" + field.LimitLoadBalancerClasses + " in ConfigMap spillway-provider/limits)"
	case len(local.Spec.LoadBalancerSourceRanges) > mostSourceRanges:
		return "spec.loadBalancerSourceRanges has more than 64 items"
	case annotated && len(local.Spec.LoadBalancerSourceRanges) == 0:
		return "metadata.annotations[" + corev1.AnnotationLoadBalancerSourceRangesKey + "] is not sent: use spec.loadBalancerSourceRanges"
	default:
		return ""
	}
}

// openAs opens a remote Service exactly as desired says. It keeps what the provider has assigned: node
// ports, and a class if desired has none.
func openAs(is, desired *corev1.ServiceSpec, before []corev1.ServicePort) {
	is.ExternalIPs, is.ExternalName, is.LoadBalancerIP = nil, "", ""
	is.LoadBalancerSourceRanges = desired.LoadBalancerSourceRanges
	is.LoadBalancerClass = cmp.Or(desired.LoadBalancerClass, is.LoadBalancerClass)
	is.ExternalTrafficPolicy = cmp.Or(desired.ExternalTrafficPolicy, is.ExternalTrafficPolicy)
	is.AllocateLoadBalancerNodePorts = cmp.Or(desired.AllocateLoadBalancerNodePorts, is.AllocateLoadBalancerNodePorts)
	is.Ports = slices.Clone(desired.Ports)
	for i := range is.Ports {
		port := &is.Ports[i]
		for j := range before {
			if before[j].Port == port.Port && cmp.Or(before[j].Protocol, corev1.ProtocolTCP) == cmp.Or(port.Protocol, corev1.ProtocolTCP) {
				port.NodePort = before[j].NodePort
			}
		}
	}
}

// ofAnotherClass reports whether a remote load balancer must be created again, because its class cannot
// be changed.
func ofAnotherClass(desired, remote *corev1.ServiceSpec) bool {
	return desired.Type == corev1.ServiceTypeLoadBalancer && remote.Type == corev1.ServiceTypeLoadBalancer &&
		desired.LoadBalancerClass != nil && !equality.Semantic.DeepEqual(desired.LoadBalancerClass, remote.LoadBalancerClass)
}
