package samples

import (
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// endpointSlice is an EndpointSlice that somebody has made for a Service without a selector. Its
// addresses are in cidr.
func endpointSlice(namespace, name, _ string) Sample[*discoveryv1.EndpointSlice] {
	local := &discoveryv1.EndpointSlice{
		ObjectMeta: meta(namespace, name), AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}, {Addresses: []string{"192.0.2.2"}}},
		Ports:     []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](80)}},
	}
	local.Labels[discoveryv1.LabelServiceName] = "created"
	return Sample[*discoveryv1.EndpointSlice]{
		Object: local,
		Shows: func(s *discoveryv1.EndpointSlice) string {
			text := fmt.Sprint(s.Labels[label], s.Labels[discoveryv1.LabelServiceName])
			for _, endpoint := range s.Endpoints {
				text += fmt.Sprint(endpoint.Addresses)
			}
			for _, port := range s.Ports {
				text += fmt.Sprint(*port.Name, *port.Port)
			}
			return text
		},
		Change: func(local *discoveryv1.EndpointSlice) {
			local.Labels[label], local.Endpoints[1].Addresses[0], local.Ports[0].Port = "changed", "192.0.2.3", ptr.To[int32](8080)
		},
		Drift: func(remote *discoveryv1.EndpointSlice) {
			remote.Endpoints, remote.Ports = remote.Endpoints[1:], nil
		},
		Hostile: func(remote *discoveryv1.EndpointSlice, word string) {
			hostileMeta(remote, word)
			remote.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.9"}, NodeName: ptr.To(word), Hostname: ptr.To(word)}}
		},
	}
}
