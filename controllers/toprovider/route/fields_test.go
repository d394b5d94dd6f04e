package route

import (
	"testing"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

var routeSubjects = map[string]fieldtest.Subject{
	"HTTPRouteSpec":   inHTTPRoute(routeSpecFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.HTTPRouteSpec { return s }),
	"GRPCRouteSpec":   inGRPCRoute(routeSpecFields, func(s *gatewayv1.GRPCRouteSpec) *gatewayv1.GRPCRouteSpec { return s }),
	"CommonRouteSpec": inHTTPRoute(commonRouteSpecFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.CommonRouteSpec { return &s.CommonRouteSpec }),
	"ParentReference": inHTTPRoute(parentReferenceFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.ParentReference { return &s.ParentRefs[0] }),
	"HTTPRouteRule":   inHTTPRoute(httpRouteRuleFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.HTTPRouteRule { return &s.Rules[0] }),
	"GRPCRouteRule":   inGRPCRoute(grpcRouteRuleFields, func(s *gatewayv1.GRPCRouteSpec) *gatewayv1.GRPCRouteRule { return &s.Rules[0] }),
	"HTTPBackendRef":  inHTTPRoute(routeBackendFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.HTTPBackendRef { return &s.Rules[0].BackendRefs[0] }),
	"GRPCBackendRef":  inGRPCRoute(routeBackendFields, func(s *gatewayv1.GRPCRouteSpec) *gatewayv1.GRPCBackendRef { return &s.Rules[0].BackendRefs[0] }),
	"BackendRef":      inHTTPRoute(backendRefFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.BackendRef { return &s.Rules[0].BackendRefs[0].BackendRef }),
	"BackendRef (gRPC)": inGRPCRoute(backendRefFields, func(s *gatewayv1.GRPCRouteSpec) *gatewayv1.BackendRef {
		return &s.Rules[0].BackendRefs[0].BackendRef
	}),
	"BackendObjectReference": inHTTPRoute(backendObjectReferenceFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.BackendObjectReference {
		return &s.Rules[0].BackendRefs[0].BackendObjectReference
	}),
	"BackendObjectReference (mirror)": inHTTPRoute(backendObjectReferenceFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.BackendObjectReference {
		return &s.Rules[0].Filters[0].RequestMirror.BackendRef
	}),
	"HTTPRequestMirrorFilter": inHTTPRoute(requestMirrorFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.HTTPRequestMirrorFilter {
		return s.Rules[0].Filters[0].RequestMirror
	}),
	"HTTPRouteFilter": inHTTPRoute(httpRouteFilterFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.HTTPRouteFilter { return &s.Rules[0].Filters[0] }),
	"HTTPRouteFilter (backend)": inHTTPRoute(httpRouteFilterFields, func(s *gatewayv1.HTTPRouteSpec) *gatewayv1.HTTPRouteFilter {
		return &s.Rules[0].BackendRefs[0].Filters[0]
	}),
	"GRPCRouteFilter": inGRPCRoute(grpcRouteFilterFields, func(s *gatewayv1.GRPCRouteSpec) *gatewayv1.GRPCRouteFilter { return &s.Rules[0].Filters[0] }),
	"GRPCRouteFilter (backend)": inGRPCRoute(grpcRouteFilterFields, func(s *gatewayv1.GRPCRouteSpec) *gatewayv1.GRPCRouteFilter {
		return &s.Rules[0].BackendRefs[0].Filters[0]
	}),
}

func TestRouteFields(t *testing.T) { fieldtest.CheckDecisions(t, routeSubjects) }
