package service

import (
	"maps"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Reasons why a Service is not sent, or is changed on the way; see toRemote and serviceNotice.
const (
	// ReasonExternalName: the Service is of type ExternalName, which is not sent.
	ReasonExternalName = "ExternalName"
	// ReasonServiceWithoutEndpoints: the remote Service has no endpoints. Either pods are sent without
	// a label in its selector, or it has no selector and the provider allows no addresses.
	ReasonServiceWithoutEndpoints = "ServiceWithoutEndpoints"
	// ReasonSentAsClusterIP: the Service has a load balancer or externalIPs, but the remote Service
	// does not.
	ReasonSentAsClusterIP = "SentAsClusterIP"
)

// toRemote returns the remote Service of local. It is reachable only within the provider, even if the
// local Service is open to the outside, unless it is Balanced.
//
// It refuses an alias (ExternalName). The provider's DNS would resolve a name of the consumer's choice,
// and may resolve it to another host.
func toRemote(local *corev1.Service, t field.Target, limits *field.Limits, classes field.Classes) (*corev1.Service, *field.Problem) {
	if local.Spec.Type == corev1.ServiceTypeExternalName {
		return nil, field.Refuse(ReasonExternalName,
			"spec.type is ExternalName: an alias is not sent to a provider, where spec.externalName may resolve to another host; pods there must use %q itself",
			local.Spec.ExternalName)
	}
	if refusal := field.NeverSynced("Service", local); refusal != nil {
		return nil, refusal
	}
	allowed := serviceSpecPlan.Allowed(&local.Spec)
	spec := allowed.DeepCopy()
	spec.ClusterIP, spec.Selector = "", field.PodLabels(local.Spec.Selector)
	if balanced(local, limits, classes) {
		spec.LoadBalancerClass = nil
		if class, _ := classes.Of(v1alpha1.ClassLoadBalancer, *local.Spec.LoadBalancerClass); class != "" {
			spec.LoadBalancerClass = &class
		}
	} else {
		spec.Type, spec.ExternalTrafficPolicy = corev1.ServiceTypeClusterIP, ""
		closeToOutside(spec)
	}
	if isHeadless(local) {
		spec.ClusterIP = corev1.ClusterIPNone
	}
	for i := range spec.Ports {
		spec.Ports[i] = servicePortPlan.Allowed(&spec.Ports[i])
	}
	return &corev1.Service{ObjectMeta: field.Metadata(local, t), Spec: *spec}, nil
}

// isHeadless reports whether a Service has no address, so that DNS resolves its name to its pods'
// addresses.
func isHeadless(service *corev1.Service) bool { return service.Spec.ClusterIP == corev1.ClusterIPNone }

// serviceNotice returns what the owner of a Service should know about the remote Service, or nil.
func serviceNotice(local *corev1.Service, limits *field.Limits, classes field.Classes) *field.Problem {
	unsent := field.UnsentKey(maps.Keys(local.Spec.Selector), limits)
	switch {
	case unsent != "":
		return field.Refuse(ReasonServiceWithoutEndpoints,
			"spec.selector[%s]: pods are sent without this label, so the Service has no endpoints there%s", unsent, whyUnsent(unsent))
	case len(local.Spec.Selector) == 0 && (limits == nil || len(limits.EndpointCIDRs) == 0):
		return field.Refuse(ReasonServiceWithoutEndpoints,
			"spec.selector is empty, so the Service gets its endpoints from EndpointSlices, but the provider allows none of their addresses (%s in ConfigMap spillway-provider/limits)",
			field.LimitEndpointCIDRs)
	case local.Spec.Type == corev1.ServiceTypeLoadBalancer && !balanced(local, limits, classes):
		return field.Refuse(ReasonSentAsClusterIP,
			"%s: in the provider the Service has type ClusterIP; its load balancer in the consumer reaches remote pods only if the networks are routed",
			unbalanced(local, limits, classes))
	case len(local.Spec.ExternalIPs) > 0:
		return field.Refuse(ReasonSentAsClusterIP,
			"spec.externalIPs: not sent, because the provider's nodes would send all traffic for these addresses, whoever owns them, to the pods")
	default:
		return nil
	}
}

// whyUnsent says how to get a label to the provider, or returns "": nobody can list those of Spillway and of zones.
func whyUnsent(label string) string {
	if !field.IsCopiedLabel(label) {
		return ""
	}
	return "; see " + field.LimitMetadataKeys + " and " + field.LimitReservedKeys + " in ConfigMap spillway-provider/limits"
}

// merge returns remote with what toRemote decides. It keeps what the provider has filled in:
// addresses, IP families, defaults. replace reports that the Service became headless or stopped to be,
// or has a load balancer of another class. The address and the class cannot be changed.
func merge(desired, remote *corev1.Service) (merged *corev1.Service, replace bool) {
	merged = field.Merged(desired, remote)
	is, should := &merged.Spec, &desired.Spec
	is.Type, is.Ports, is.Selector = should.Type, should.Ports, should.Selector
	is.PublishNotReadyAddresses = should.PublishNotReadyAddresses
	is.TrafficDistribution = should.TrafficDistribution
	if should.SessionAffinity != "" {
		is.SessionAffinity, is.SessionAffinityConfig = should.SessionAffinity, should.SessionAffinityConfig
	}
	if should.InternalTrafficPolicy != nil {
		is.InternalTrafficPolicy = should.InternalTrafficPolicy
	}
	if should.Type == corev1.ServiceTypeLoadBalancer {
		openAs(is, should, remote.Spec.Ports)
	} else {
		closeToOutside(is)
	}
	return merged, isHeadless(desired) != isHeadless(remote) || ofAnotherClass(should, &remote.Spec)
}

// closeToOutside removes all fields by which somebody in the provider may have opened a Service to the
// outside. The API server removes the fields that depend on the type.
func closeToOutside(spec *corev1.ServiceSpec) {
	spec.ExternalIPs, spec.ExternalName = nil, ""
	spec.LoadBalancerIP, spec.LoadBalancerSourceRanges, spec.LoadBalancerClass = "", nil, nil
	spec.AllocateLoadBalancerNodePorts, spec.HealthCheckNodePort = nil, 0
}
