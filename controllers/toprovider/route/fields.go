package route

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// A field whose decision is to send it is sent whole: see TestRoutePartsSentWhole.

var (
	// For HTTPRoutes and GRPCRoutes.
	routeSpecFields = field.Decisions{
		"CommonRouteSpec": field.Change("parentRefs that the provider has a Gateway for, without useDefaultGateways"),
		"Hostnames":       field.Send(),
		"Rules":           field.Change("field by field, without those that versions of the Gateway API differ in"),
	}
	commonRouteSpecFields = field.Decisions{
		"ParentRefs":         field.Change("those that the provider has a Gateway for"),
		"UseDefaultGateways": field.Drop("the provider's default Gateways stand for none of the consumer's"),
	}
	parentReferenceFields = field.Decisions{
		"Group":       field.Change("always given: the default depends on the API server"),
		"Kind":        field.Change("always given: the default depends on the API server"),
		"Namespace":   field.Change("that of the Gateway in the provider"),
		"Name":        field.Change("that of the Gateway in the provider"),
		"SectionName": field.Send(),
		"Port":        field.Send(),
	}
	routeBackendFields = field.Decisions{
		"BackendRef": field.Change("without the namespace of its Service"),
		"Filters":    field.Change("by their type: sent, or the route is refused"),
	}
	backendRefFields = field.Decisions{
		"BackendObjectReference": field.Change("without the namespace of its Service"),
		"Weight":                 field.Send(),
	}
	backendObjectReferenceFields = field.Decisions{
		"Group": field.Send(),
		"Kind":  field.Send(),
		"Name":  field.Send(),
		"Port":  field.Send(),

		"Namespace": field.Drop("the remote route is in the namespace of its Services, whose name is another one there"),
	}
	requestMirrorFields = field.Decisions{
		"BackendRef": field.Change("without the namespace of its Service"),
		"Percent":    field.Send(),
		"Fraction":   field.Send(),
	}
)

var httpRouteRuleFields = field.Decisions{
	"Name":        field.Send(),
	"Matches":     field.Send(),
	"Filters":     field.Change("by their type: sent, or the route is refused"),
	"BackendRefs": field.Change("without the namespaces of their Services; their filters by type"),
	"Timeouts":    field.Send(),

	"Retry":              field.Drop(versionDependent),
	"SessionPersistence": field.Drop(versionDependent),
}

var grpcRouteRuleFields = field.Decisions{
	"Name":        field.Send(),
	"Matches":     field.Send(),
	"Filters":     field.Change("by their type: sent, or the route is refused"),
	"BackendRefs": field.Change("without the namespaces of their Services; their filters by type"),

	"SessionPersistence": field.Drop(versionDependent),
}

const (
	versionDependent = "versions and channels of the Gateway API differ in its fields"
	namesExtension   = "it names an object of the consumer's controller, and without the filter the provider might allow more requests"
)

var httpRouteFilterFields = field.Decisions{
	"Type":                   field.Send(),
	"RequestHeaderModifier":  field.Send(),
	"ResponseHeaderModifier": field.Send(),
	"RequestMirror":          field.Change("without the namespace of its Service"),
	"RequestRedirect":        field.Send(),
	"URLRewrite":             field.Send(),
	"CORS":                   field.Send(),

	"ExternalAuth": field.Deny(ReasonFilterNotSent, "the provider would use another authorization server, or none"),
	"ExtensionRef": field.Deny(ReasonFilterNotSent, namesExtension),
}

var grpcRouteFilterFields = field.Decisions{
	"Type":                   field.Send(),
	"RequestHeaderModifier":  field.Send(),
	"ResponseHeaderModifier": field.Send(),
	"RequestMirror":          field.Change("without the namespace of its Service"),

	"ExtensionRef": field.Deny(ReasonFilterNotSent, namesExtension),
}

// sentFilters are the types of filters that are sent. A filter of a newer API is refused, because this
// version does not know what the filter keeps out.
var sentFilters = []string{
	string(gatewayv1.HTTPRouteFilterRequestHeaderModifier), string(gatewayv1.HTTPRouteFilterResponseHeaderModifier),
	string(gatewayv1.HTTPRouteFilterRequestRedirect), string(gatewayv1.HTTPRouteFilterURLRewrite),
	string(gatewayv1.HTTPRouteFilterRequestMirror), string(gatewayv1.HTTPRouteFilterCORS),
}

var (
	httpRouteSpecPlan          = field.PlanFor[gatewayv1.HTTPRouteSpec](routeSpecFields)
	grpcRouteSpecPlan          = field.PlanFor[gatewayv1.GRPCRouteSpec](routeSpecFields)
	commonRouteSpecPlan        = field.PlanFor[gatewayv1.CommonRouteSpec](commonRouteSpecFields)
	parentReferencePlan        = field.PlanFor[gatewayv1.ParentReference](parentReferenceFields)
	httpRouteRulePlan          = field.PlanFor[gatewayv1.HTTPRouteRule](httpRouteRuleFields)
	grpcRouteRulePlan          = field.PlanFor[gatewayv1.GRPCRouteRule](grpcRouteRuleFields)
	httpBackendPlan            = field.PlanFor[gatewayv1.HTTPBackendRef](routeBackendFields)
	grpcBackendPlan            = field.PlanFor[gatewayv1.GRPCBackendRef](routeBackendFields)
	backendRefPlan             = field.PlanFor[gatewayv1.BackendRef](backendRefFields)
	backendObjectReferencePlan = field.PlanFor[gatewayv1.BackendObjectReference](backendObjectReferenceFields)
	httpRouteFilterPlan        = field.PlanFor[gatewayv1.HTTPRouteFilter](httpRouteFilterFields)
	grpcRouteFilterPlan        = field.PlanFor[gatewayv1.GRPCRouteFilter](grpcRouteFilterFields)
	requestMirrorPlan          = field.PlanFor[gatewayv1.HTTPRequestMirrorFilter](requestMirrorFields)
)
