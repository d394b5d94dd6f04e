package service

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// trim removes fields that are never sent and have no size limit. It also removes the status, unless
// providers may report it. It keeps enough to tell the owner of externalIPs or of too many source ranges.
func trim(service *corev1.Service, oversized bool) {
	if oversized {
		service.Spec.Selector, service.Spec.Ports = nil, nil
	}
	if len(service.Status.Conditions) > 0 {
		service.Status.Conditions = nil
	}
	ranges := 0
	if field.HasClass(service) {
		ranges = mostSourceRanges + 1
	} else if len(service.Status.LoadBalancer.Ingress) > 0 {
		service.Status.LoadBalancer.Ingress = nil
	}
	if len(service.Spec.LoadBalancerSourceRanges) > ranges {
		service.Spec.LoadBalancerSourceRanges = slices.Clone(service.Spec.LoadBalancerSourceRanges[:ranges])
	}
	if len(service.Spec.ExternalIPs) > 1 {
		service.Spec.ExternalIPs = slices.Clone(service.Spec.ExternalIPs[:1])
	}
}
