package endpointslice

import (
	"reflect"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// inSlice returns a subject that is somewhere in an EndpointSlice.
func inSlice[T any](fields field.Decisions, where func(*discoveryv1.EndpointSlice) *T) fieldtest.Subject {
	return fieldtest.Subject{Kind: reflect.TypeFor[T](), Fields: fields, Translate: fieldtest.AnywhereIn(func(t *testing.T) *discoveryv1.EndpointSlice {
		t.Helper()
		return sliceOf(t, `{addressType: IPv4, endpoints: [{addresses: [10.1.0.1]}], ports: [{port: 80}]}`)
	}, where, func(local *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, *field.Problem) {
		local.Endpoints[0].Addresses = []string{"10.1.0.1"}
		return toRemote(local, fieldtest.Mapped, fieldtest.Listing, "eu")
	}, merge)}
}

func TestEndpointsliceFields(t *testing.T) {
	fieldtest.CheckDecisions(t, map[string]fieldtest.Subject{
		"EndpointSlice":      inSlice(endpointSliceFields, func(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice { return s }),
		"Endpoint":           inSlice(endpointFields, func(s *discoveryv1.EndpointSlice) *discoveryv1.Endpoint { return &s.Endpoints[0] }),
		"EndpointConditions": inSlice(endpointConditionsFields, func(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointConditions { return &s.Endpoints[0].Conditions }),
		"EndpointPort":       inSlice(endpointPortFields, func(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointPort { return &s.Ports[0] }),
	})
}
