package samples

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// service is a Service of some pods, with a load balancer in the provider.
func service(namespace, name, _ string) Sample[*corev1.Service] {
	return Sample[*corev1.Service]{
		Object: &corev1.Service{
			ObjectMeta: meta(namespace, name),
			Spec: corev1.ServiceSpec{
				Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: ptr.To(Balancer),
				Selector: map[string]string{app: "created"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "metrics", Port: 9090}},
			},
		},
		Shows: func(s *corev1.Service) string {
			text := s.Labels[label] + "," + s.Spec.Selector[app] + "," + string(s.Spec.Type) + "," + ptr.Deref(s.Spec.LoadBalancerClass, "")
			for _, port := range s.Spec.Ports {
				text += fmt.Sprintf(",%s=%d", port.Name, port.Port)
			}
			return text
		},
		Change: func(local *corev1.Service) {
			local.Labels[label], local.Spec.Selector[app], local.Spec.Ports[0].Port = "changed", "changed", 8080
		},
		Drift: func(remote *corev1.Service) {
			remote.Spec.Selector[app], remote.Spec.Ports = "drifted", remote.Spec.Ports[1:]
		},
		Hostile: func(remote *corev1.Service, word string) {
			hostileMeta(remote, word)
			remote.Spec.Selector = map[string]string{"example.com/hostile": word}
			remote.Spec.Ports[0].Name = word
			remote.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: word}, {IP: "127.0.0.1"}}
			remote.Status.Conditions = []metav1.Condition{{
				Type: "Hostile", Status: metav1.ConditionTrue, Reason: "Hostile", Message: word, LastTransitionTime: metav1.Now(),
			}}
		},
		Report: func(remote *corev1.Service) {
			remote.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.10"}, {Hostname: "web.example.com"}}
		},
		Reported: func(s *corev1.Service) string {
			var all []string
			for _, ingress := range s.Status.LoadBalancer.Ingress {
				all = append(all, ingress.IP+ingress.Hostname)
			}
			return strings.Join(all, ",")
		},
	}
}
