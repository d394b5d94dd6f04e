package samples

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/utils/ptr"
)

// ingress is an Ingress with one host.
func ingress(namespace, name, _ string) Sample[*networkingv1.Ingress] {
	return Sample[*networkingv1.Ingress]{
		Object: &networkingv1.Ingress{
			ObjectMeta: meta(namespace, name),
			Spec: networkingv1.IngressSpec{IngressClassName: ptr.To(IngressClass), Rules: []networkingv1.IngressRule{{
				Host: name + "." + Domain, IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
					Paths: []networkingv1.HTTPIngressPath{{Path: "/created", PathType: ptr.To(networkingv1.PathTypePrefix), Backend: networkingv1.IngressBackend{
						Service: &networkingv1.IngressServiceBackend{Name: name, Port: networkingv1.ServiceBackendPort{Number: 80}},
					}}},
				}},
			}}},
		},
		Shows: func(i *networkingv1.Ingress) string {
			return strings.Join([]string{i.Labels[label], *i.Spec.IngressClassName, i.Spec.Rules[0].Host, i.Spec.Rules[0].HTTP.Paths[0].Path}, ",")
		},
		Change: func(local *networkingv1.Ingress) {
			local.Labels[label], local.Spec.Rules[0].HTTP.Paths[0].Path = "changed", "/changed"
		},
		Drift: func(remote *networkingv1.Ingress) {
			remote.Spec.Rules[0].HTTP.Paths[0].Path = "/drifted"
		},
		Hostile: func(remote *networkingv1.Ingress, word string) {
			hostileMeta(remote, word)
			remote.Spec.Rules[0].HTTP.Paths[0].Path = "/" + word
			remote.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{Hostname: word}, {IP: "127.0.0.1"}}
		},
		Report: func(remote *networkingv1.Ingress) {
			remote.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "203.0.113.10"}, {Hostname: "web.example.com"}}
		},
		Reported: func(i *networkingv1.Ingress) string {
			var all []string
			for _, entry := range i.Status.LoadBalancer.Ingress {
				all = append(all, entry.IP+entry.Hostname)
			}
			return strings.Join(all, ",")
		},
	}
}
