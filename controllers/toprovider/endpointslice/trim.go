package endpointslice

import discoveryv1 "k8s.io/api/discovery/v1"

// trim removes fields that are never sent, which are most of an endpoint.
func trim(slice *discoveryv1.EndpointSlice, _ bool) {
	for i := range slice.Endpoints {
		if e := &slice.Endpoints[i]; e.TargetRef != nil || e.Zone != nil || e.Hints != nil || e.DeprecatedTopology != nil {
			e.TargetRef, e.Zone, e.Hints, e.DeprecatedTopology = nil, nil, nil, nil
		}
	}
}
