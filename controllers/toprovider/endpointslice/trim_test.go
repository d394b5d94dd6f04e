package endpointslice

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/consumer/views"
)

// TestHeldEndpoints checks that most of an endpoint is dropped, because it is never sent.
func TestHeldEndpoints(t *testing.T) {
	kind := Kind()
	kept := discoveryv1.Endpoint{Addresses: []string{"10.1.0.1"}, NodeName: ptr.To("eu"), Hostname: ptr.To("db-0")}
	in := kept
	in.Zone, in.TargetRef, in.DeprecatedTopology, in.Hints = ptr.To("a"), &corev1.ObjectReference{Name: "db-0"}, map[string]string{"a": "b"}, &discoveryv1.EndpointHints{}
	got := views.Trim(&discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{in}}, kind.TrimAny).(*discoveryv1.EndpointSlice)
	if diff := cmp.Diff([]discoveryv1.Endpoint{kept}, got.Endpoints); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
