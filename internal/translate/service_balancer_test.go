package translate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestRangesByAnnotation: a load balancer whose ranges are not sent would be open to all.
func TestRangesByAnnotation(t *testing.T) {
	local := serviceOf(t, `{type: LoadBalancer, loadBalancerClass: x}`)
	if !Balanced(local, balancing, classes) {
		t.Fatal("it is not sent as LoadBalancer")
	}
	local.Annotations = map[string]string{corev1.AnnotationLoadBalancerSourceRangesKey: "192.0.2.0/24"}
	if Balanced(local, balancing, classes) {
		t.Error("it is open to all there")
	}
	local.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} // The field counts then.
	if !Balanced(local, balancing, classes) {
		t.Error("it is not sent as LoadBalancer")
	}
}
