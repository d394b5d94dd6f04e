package translate

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

// Why an EndpointSlice is not sent, or not as it is.
const (
	// ReasonAddressNotAllowed: it is not sent, because the provider allows none of its addresses.
	ReasonAddressNotAllowed = "AddressNotAllowed"
	// ReasonAddressesLeftOut: it is sent without those that the provider does not allow.
	ReasonAddressesLeftOut = "AddressesLeftOut"
)

const (
	// EndpointSliceManager is whom EndpointSlices in providers name as their manager, so that
	// the controllers of Kubernetes there leave them alone.
	EndpointSliceManager = "syncer.spillway.io"
	// managerOfPods is the controller of Kubernetes that lists the pods which a Service selects.
	managerOfPods = "endpointslice-controller.k8s.io"
)

// keysOfSlices are the labels by which Kubernetes knows what an EndpointSlice is for. No
// limit withholds them. The provider's policy has the same list.
var keysOfSlices = []string{discoveryv1.LabelServiceName, discoveryv1.LabelManagedBy, corev1.IsHeadlessService}

// IsOfSelectedPods reports whether an EndpointSlice lists the pods that a Service selects,
// as the consumer's own controller does. Others are made by users or their controllers,
// for Services without a selector.
func IsOfSelectedPods(local *discoveryv1.EndpointSlice) bool {
	return local.Labels[discoveryv1.LabelManagedBy] == managerOfPods
}

// HasEndpointsElsewhere reports whether an EndpointSlice has an endpoint that the provider
// with that virtual node does not list itself.
func HasEndpointsElsewhere(local *discoveryv1.EndpointSlice, node string) bool {
	return slices.ContainsFunc(local.Endpoints, func(e discoveryv1.Endpoint) bool { return !isThere(local, &e, node) })
}

// isThere reports whether an endpoint is a pod that the provider's own controller lists
// for the Service there: one on the virtual node, if the Service selects it.
func isThere(local *discoveryv1.EndpointSlice, endpoint *discoveryv1.Endpoint, node string) bool {
	return IsOfSelectedPods(local) && endpoint.NodeName != nil && *endpoint.NodeName == node
}

// EndpointSlice is the remote EndpointSlice of local, in the provider with that virtual
// node: the endpoints elsewhere whose addresses the provider allows. If it lacks some,
// LeftOut says so.
//
// The endpoints are in the order of their addresses: the consumer may list the same ones
// in another order, which is no reason for a write.
func EndpointSlice(local *discoveryv1.EndpointSlice, t Target, limits *Limits, node string) (*discoveryv1.EndpointSlice, *field.Problem) {
	if refusal := neverSynced("EndpointSlice", local); refusal != nil {
		return nil, refusal
	}
	if local.AddressType != discoveryv1.AddressTypeIPv4 && local.AddressType != discoveryv1.AddressTypeIPv6 {
		return nil, field.Refuse(ReasonAddressNotAllowed,
			"addressType is %s: only IPv4 and IPv6 addresses are sent, because the provider cannot check where a name leads", local.AddressType)
	}
	endpoints, lacks := limits.endpoints(local, node)
	if lacks && len(endpoints) == 0 {
		return nil, field.Refuse(ReasonAddressNotAllowed, "it is not sent, because the provider allows none of its addresses: %s", limits.cureOfAddresses())
	}
	named := local.ObjectMeta
	named.Annotations = maps.Clone(local.Annotations)
	delete(named.Annotations, corev1.EndpointsLastChangeTriggerTime) // The consumer's controller measures itself by it.
	remote := new(endpointSlicePlan.allowed(local))
	remote.ObjectMeta, remote.Endpoints, remote.Ports = Metadata(&named, t), endpoints, nil
	remote.Labels[discoveryv1.LabelManagedBy] = EndpointSliceManager
	if lacks {
		remote.Annotations[v1alpha1.AnnotationLeftOut] = "it is sent without some of its addresses, because the provider does not allow them: " + limits.cureOfAddresses()
	}
	for i := range local.Ports {
		port := endpointPortPlan.allowed(&local.Ports[i])
		remote.Ports = append(remote.Ports, *port.DeepCopy())
	}
	return remote, nil
}

// endpoints are those of an EndpointSlice that are sent. lacks reports that the provider
// does not allow an address of one of them.
func (l *Limits) endpoints(local *discoveryv1.EndpointSlice, node string) (sent []discoveryv1.Endpoint, lacks bool) {
	for i := range local.Endpoints {
		if isThere(local, &local.Endpoints[i], node) {
			continue
		}
		addresses := l.addresses(local.Endpoints[i].Addresses, local.AddressType)
		lacks = lacks || len(addresses) < len(local.Endpoints[i].Addresses)
		if len(addresses) == 0 {
			continue
		}
		allowed := endpointPlan.allowed(&local.Endpoints[i])
		endpoint := allowed.DeepCopy()
		endpoint.Addresses, endpoint.Conditions = addresses, endpointConditionsPlan.allowed(&endpoint.Conditions)
		sent = append(sent, *endpoint)
	}
	slices.SortStableFunc(sent, func(a, b discoveryv1.Endpoint) int { return cmp.Compare(a.Addresses[0], b.Addresses[0]) })
	return sent, lacks
}

// addresses are those of a family that the provider allows, in their canonical form and
// in their order: most programs use only the first.
func (l *Limits) addresses(all []string, of discoveryv1.AddressType) []string {
	var allowed []string
	for _, text := range all {
		ip, err := netip.ParseAddr(text)
		if err == nil && ip.Is4() == (of == discoveryv1.AddressTypeIPv4) && l.allowsAddress(ip) {
			allowed = append(allowed, ip.String())
		}
	}
	return allowed
}

// allowsAddress reports whether an EndpointSlice may have an address: one that means the
// same on each node, and is in a range that the provider's administrator has listed. A
// Service that leads elsewhere would let a team reach, from its namespace, what the
// provider keeps from it (CVE-2021-25740).
func (l *Limits) allowsAddress(ip netip.Addr) bool {
	return network.IsOfPods(ip) && l != nil && slices.ContainsFunc(l.EndpointCIDRs, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// rangesShown is how many ranges a message names.
const rangesShown = 3

// cureOfAddresses says which addresses are allowed, and who can change that. It names none
// of the EndpointSlice: they change all the time, and their owner is told once.
func (l *Limits) cureOfAddresses() string {
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
	return "its administrator lists the ranges (" + limitEndpointCIDRs + " in ConfigMap spillway-provider/limits: " + what + "), and loopback and link-local addresses never are"
}

// MergeEndpointSlice is remote with what EndpointSlice decides about, and with labels and
// annotations that the provider has added. replace reports another type of addresses, which cannot be changed.
func MergeEndpointSlice(desired, remote *discoveryv1.EndpointSlice) (merged *discoveryv1.EndpointSlice, replace bool) {
	merged = Merged(desired, remote)
	merged.Endpoints, merged.Ports = desired.Endpoints, desired.Ports
	return merged, desired.AddressType != remote.AddressType
}
