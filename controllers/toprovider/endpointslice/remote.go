package endpointslice

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/field"
)

// Reasons why an EndpointSlice is not sent, or is changed on the way.
const (
	// ReasonAddressNotAllowed: the EndpointSlice is not sent, because the provider allows none of its
	// addresses.
	ReasonAddressNotAllowed = "AddressNotAllowed"
	// ReasonAddressesLeftOut: the EndpointSlice is sent without the addresses that the provider does
	// not allow.
	ReasonAddressesLeftOut = "AddressesLeftOut"
)

const (
	// EndpointSliceManager is the manager that remote EndpointSlices name. It keeps the provider's own
	// Kubernetes controllers from changing them.
	EndpointSliceManager = "syncer.spillway.io"
	// managerOfPods is the Kubernetes controller that lists the pods that a Service selects.
	managerOfPods = "endpointslice-controller.k8s.io"
)

// isOfSelectedPods reports whether an EndpointSlice lists the pods that a Service selects, written by
// the consumer's own controller. Users or their controllers create the others, for Services without a
// selector.
func isOfSelectedPods(local *discoveryv1.EndpointSlice) bool {
	return local.Labels[discoveryv1.LabelManagedBy] == managerOfPods
}

// hasEndpointsElsewhere reports whether an EndpointSlice has an endpoint that the provider does not
// list itself. node is the provider's virtual node.
func hasEndpointsElsewhere(local *discoveryv1.EndpointSlice, node string) bool {
	return slices.ContainsFunc(local.Endpoints, func(e discoveryv1.Endpoint) bool { return !isThere(local, &e, node) })
}

// isThere reports whether the provider's own controller lists an endpoint for the remote Service. It
// does so if the endpoint is a pod on the virtual node, and the Service selects it.
func isThere(local *discoveryv1.EndpointSlice, endpoint *discoveryv1.Endpoint, node string) bool {
	return isOfSelectedPods(local) && endpoint.NodeName != nil && v1alpha1.SameProvider(*endpoint.NodeName, node)
}

// toRemote returns the remote EndpointSlice of local. It has the endpoints elsewhere whose
// addresses the provider allows. node is the provider's virtual node. If some addresses are missing,
// LeftOut says so.
//
// The endpoints are sorted by address. The consumer may list the same endpoints in another order, which
// should not cause a write.
func toRemote(local *discoveryv1.EndpointSlice, t field.Target, limits *field.Limits, node string) (*discoveryv1.EndpointSlice, *field.Problem) {
	if refusal := field.NeverSynced("EndpointSlice", local); refusal != nil {
		return nil, refusal
	}
	if local.AddressType != discoveryv1.AddressTypeIPv4 && local.AddressType != discoveryv1.AddressTypeIPv6 {
		return nil, field.Refuse(ReasonAddressNotAllowed,
			"addressType is %s: only IPv4 and IPv6 addresses are sent, because the provider cannot verify a DNS name", local.AddressType)
	}
	sent, lacks := endpoints(limits, local, node)
	if lacks && len(sent) == 0 {
		return nil, field.Refuse(ReasonAddressNotAllowed, "it is not sent, because the provider allows none of its addresses: %s", cureOfAddresses(limits))
	}
	named := local.ObjectMeta
	named.Annotations = maps.Clone(local.Annotations)
	delete(named.Annotations, corev1.EndpointsLastChangeTriggerTime) // The consumer's controller measures its own delay with it.
	remote := new(endpointSlicePlan.Allowed(local))
	remote.ObjectMeta, remote.Endpoints, remote.Ports = field.Metadata(&named, t), sent, nil
	remote.Labels[discoveryv1.LabelManagedBy] = EndpointSliceManager
	if lacks {
		remote.Annotations[v1alpha1.AnnotationLeftOut] = "it is sent without some of its addresses, because the provider does not allow them: " + cureOfAddresses(limits)
	}
	for i := range local.Ports {
		port := endpointPortPlan.Allowed(&local.Ports[i])
		remote.Ports = append(remote.Ports, *port.DeepCopy())
	}
	return remote, nil
}

// endpoints returns the endpoints of an EndpointSlice that are sent. lacks reports that the provider
// does not allow some of their addresses.
func endpoints(l *field.Limits, local *discoveryv1.EndpointSlice, node string) (sent []discoveryv1.Endpoint, lacks bool) {
	for i := range local.Endpoints {
		if isThere(local, &local.Endpoints[i], node) {
			continue
		}
		addresses := allowedAddresses(l, local.Endpoints[i].Addresses, local.AddressType)
		lacks = lacks || len(addresses) < len(local.Endpoints[i].Addresses)
		if len(addresses) == 0 {
			continue
		}
		allowed := endpointPlan.Allowed(&local.Endpoints[i])
		endpoint := allowed.DeepCopy()
		endpoint.Addresses, endpoint.Conditions = addresses, endpointConditionsPlan.Allowed(&endpoint.Conditions)
		sent = append(sent, *endpoint)
	}
	slices.SortStableFunc(sent, func(a, b discoveryv1.Endpoint) int { return cmp.Compare(a.Addresses[0], b.Addresses[0]) })
	return sent, lacks
}

// allowedAddresses returns the addresses of a family that the provider allows, in canonical form. They keep
// their order, because most programs use only the first.
func allowedAddresses(l *field.Limits, all []string, of discoveryv1.AddressType) []string {
	var allowed []string
	for _, text := range all {
		ip, err := netip.ParseAddr(text)
		if err == nil && ip.Is4() == (of == discoveryv1.AddressTypeIPv4) && allowsAddress(l, ip) {
			allowed = append(allowed, ip.String())
		}
	}
	return allowed
}

// allowsAddress reports whether an EndpointSlice may have an address. The address must mean the same on
// each node, and be in a range that the provider's administrator lists. A Service with other addresses
// could let a team reach what the provider closes to its namespace (CVE-2021-25740).
func allowsAddress(l *field.Limits, ip netip.Addr) bool {
	return network.IsOfPods(ip) && l != nil && slices.ContainsFunc(l.EndpointCIDRs, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// rangesShown is how many ranges a message names at most.
const rangesShown = 3

// cureOfAddresses says which addresses are allowed, and who can change that. It names no address of the
// EndpointSlice: these change all the time, and the owner should get only one event.
func cureOfAddresses(l *field.Limits) string {
	what := "there are none"
	if l != nil && len(l.EndpointCIDRs) > 0 {
		var shown []string
		for _, prefix := range l.EndpointCIDRs[:min(len(l.EndpointCIDRs), rangesShown)] {
			shown = append(shown, prefix.String())
		}
		what = strings.Join(shown, ", ")
		if len(l.EndpointCIDRs) > rangesShown {
			what += " and more"
		}
	}
	return "its administrator must list the ranges (" + field.LimitEndpointCIDRs + " in ConfigMap spillway-provider/limits: " + what + "); loopback and link-local addresses are never allowed"
}

// merge returns remote with what toRemote decides. Labels and annotations that the
// provider added stay. replace reports another address type, which cannot be changed.
func merge(desired, remote *discoveryv1.EndpointSlice) (merged *discoveryv1.EndpointSlice, replace bool) {
	merged = field.Merged(desired, remote)
	merged.Endpoints, merged.Ports = desired.Endpoints, desired.Ports
	return merged, desired.AddressType != remote.AddressType
}
