package service

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// TestRangesByAnnotation: a load balancer whose source ranges are not sent would be open to everybody.
func TestRangesByAnnotation(t *testing.T) {
	local := fieldtest.ServiceOf(t, `{type: LoadBalancer, loadBalancerClass: x}`)
	if !balanced(local, fieldtest.Balancing, fieldtest.Classes) {
		t.Fatal("it is not sent as LoadBalancer")
	}
	local.Annotations = map[string]string{corev1.AnnotationLoadBalancerSourceRangesKey: "192.0.2.0/24"}
	if balanced(local, fieldtest.Balancing, fieldtest.Classes) {
		t.Error("it is open to all there")
	}
	local.Spec.LoadBalancerSourceRanges = []string{"192.0.2.0/24"} // Then the field takes precedence.
	if !balanced(local, fieldtest.Balancing, fieldtest.Classes) {
		t.Error("it is not sent as LoadBalancer")
	}
}
