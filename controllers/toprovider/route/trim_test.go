package route

import (
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/internal/consumer/views"
)

// TestHeldRoutes checks that fields which a team can make too large are dropped. A route's parents and their
// status stay.
func TestHeldRoutes(t *testing.T) {
	kind := HTTP()
	for size, cut := range map[int]bool{10: false, 5000: true} {
		route := &gatewayv1.HTTPRoute{}
		route.Spec.ParentRefs, route.Spec.Rules = []gatewayv1.ParentReference{{Name: "public"}}, make([]gatewayv1.HTTPRouteRule, size)
		route.Status.Parents = []gatewayv1.RouteParentStatus{{ControllerName: "example.com/home"}}
		for range 2 {
			got := views.Trim(route, kind.TrimAny).(*gatewayv1.HTTPRoute)
			if (len(got.Spec.Rules) == 0) != cut || len(got.Spec.ParentRefs) != 1 || len(got.Status.Parents) != 1 {
				t.Errorf("%d rules: held %d, %v, %v", size, len(got.Spec.Rules), got.Spec.ParentRefs, got.Status)
			}
		}
	}
}
