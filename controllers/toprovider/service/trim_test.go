package service

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/field"
)

// TestHeldServices tests fields that the API server does not limit in number or length.
func TestHeldServices(t *testing.T) {
	kind := Kind()
	long := strings.Repeat("x", field.MostMetadata)
	port := corev1.ServicePort{Name: "http", Port: 80}
	for name, test := range map[string]struct{ in, want corev1.ServiceSpec }{
		"what is sent":    {corev1.ServiceSpec{Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{port}}, corev1.ServiceSpec{Selector: map[string]string{"a": "b"}, Ports: []corev1.ServicePort{port}}},
		"a long selector": {corev1.ServiceSpec{Selector: map[string]string{"a": long}, Ports: []corev1.ServicePort{port}}, corev1.ServiceSpec{}},
		"many ports":      {corev1.ServiceSpec{Ports: slices.Repeat([]corev1.ServicePort{port}, 1000)}, corev1.ServiceSpec{}},
		"a load balancer": {
			corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("a"), ExternalIPs: []string{"a"}, LoadBalancerSourceRanges: slices.Repeat([]string{"c"}, 100)},
			corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To("a"), ExternalIPs: []string{"a"}, LoadBalancerSourceRanges: slices.Repeat([]string{"c"}, 65)},
		},
		"addresses": {corev1.ServiceSpec{ExternalIPs: []string{"a", "b"}, LoadBalancerSourceRanges: []string{"c"}}, corev1.ServiceSpec{ExternalIPs: []string{"a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			service := &corev1.Service{Spec: test.in, Status: corev1.ServiceStatus{
				Conditions: []metav1.Condition{{Message: long}}, LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}},
			}}
			for range 2 {
				got := views.Trim(service, kind.TrimAny).(*corev1.Service)
				if diff := cmp.Diff(test.want, got.Spec, cmpopts.EquateEmpty()); diff != "" || len(got.Status.Conditions) > 0 || (len(got.Status.LoadBalancer.Ingress) > 0) != (test.want.LoadBalancerClass != nil) {
					t.Errorf("held (-want +got):\n%.2000s", diff)
				}
				if refusal := field.MetadataTooLarge(got, nil); (refusal != nil) != (test.want.Ports == nil && test.want.ExternalIPs == nil) {
					t.Errorf("it is refused: %v", refusal)
				}
			}
		})
	}
}
