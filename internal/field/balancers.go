package field

import corev1 "k8s.io/api/core/v1"

// MostSourceRanges is how many loadBalancerSourceRanges a Service with a load balancer in a provider
// may have. The consumer's caches keep one more, and drop the rest.
const MostSourceRanges = 64

// HasClass reports whether a Service is of type LoadBalancer and has a class. The consumer's cloud
// ignores such Services.
func HasClass(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.LoadBalancerClass != nil
}
