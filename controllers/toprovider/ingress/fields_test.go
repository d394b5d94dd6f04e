package ingress

import (
	"testing"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestIngressFields(t *testing.T) {
	fieldtest.CheckDecisions(t, map[string]fieldtest.Subject{
		"IngressSpec": inIngress(ingressSpecFields, func(s *networkingv1.IngressSpec) *networkingv1.IngressSpec { return s }),
		"IngressTLS":  inIngress(ingressTLSFields, func(s *networkingv1.IngressSpec) *networkingv1.IngressTLS { return &s.TLS[0] }),
		"IngressRule": inIngress(ingressRuleFields, func(s *networkingv1.IngressSpec) *networkingv1.IngressRule { return &s.Rules[0] }),
		"IngressRuleValue": inIngress(ingressRuleValueFields, func(s *networkingv1.IngressSpec) *networkingv1.IngressRuleValue {
			return &s.Rules[0].IngressRuleValue
		}),
		"HTTPIngressRuleValue": inIngress(httpIngressRuleValueFields, func(s *networkingv1.IngressSpec) *networkingv1.HTTPIngressRuleValue { return s.Rules[0].HTTP }),
		"HTTPIngressPath":      inIngress(httpIngressPathFields, firstPath),
		"IngressBackend":       inIngress(ingressBackendFields, func(s *networkingv1.IngressSpec) *networkingv1.IngressBackend { return &firstPath(s).Backend }),
		"IngressServiceBackend": inIngress(ingressServiceBackendFields, func(s *networkingv1.IngressSpec) *networkingv1.IngressServiceBackend {
			return firstPath(s).Backend.Service
		}),
		"ServiceBackendPort": inIngress(serviceBackendPortFields, func(s *networkingv1.IngressSpec) *networkingv1.ServiceBackendPort {
			return &firstPath(s).Backend.Service.Port
		}),
	})
}
