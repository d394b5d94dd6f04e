package translate

import gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

// A field whose decision is to send it is sent whole: see TestRoutePartsSentWhole.

var (
	// For HTTPRoutes and GRPCRoutes.
	routeSpecFields = decisions{
		"CommonRouteSpec": change("see commonRouteSpecFields"),
		"Hostnames":       send(),
		"Rules":           change("see httpRouteRuleFields and grpcRouteRuleFields"),
	}
	commonRouteSpecFields = decisions{
		"ParentRefs":         change("those that the provider has a Gateway for"),
		"UseDefaultGateways": drop("the provider's default Gateways stand for none of the consumer's"),
	}
	parentReferenceFields = decisions{
		"Group":       change("always given: the default depends on the API server"),
		"Kind":        change("always given: the default depends on the API server"),
		"Namespace":   change("that of the Gateway in the provider"),
		"Name":        change("that of the Gateway in the provider"),
		"SectionName": send(),
		"Port":        send(),
	}
	routeBackendFields = decisions{
		"BackendRef": change("see backendRefFields"),
		"Filters":    change("see httpRouteFilterFields and grpcRouteFilterFields"),
	}
	backendRefFields = decisions{
		"BackendObjectReference": change("see backendObjectReferenceFields"),
		"Weight":                 send(),
	}
	backendObjectReferenceFields = decisions{
		"Group": send(),
		"Kind":  send(),
		"Name":  send(),
		"Port":  send(),

		"Namespace": drop("the remote route is in the namespace of its Services, whose name is another one there"),
	}
	requestMirrorFields = decisions{
		"BackendRef": change("see backendObjectReferenceFields"),
		"Percent":    send(),
		"Fraction":   send(),
	}
)

var httpRouteRuleFields = decisions{
	"Name":        send(),
	"Matches":     send(),
	"Filters":     change("see httpRouteFilterFields"),
	"BackendRefs": change("see routeBackendFields"),
	"Timeouts":    send(),

	"Retry":              drop(versionDependent),
	"SessionPersistence": drop(versionDependent),
}

var grpcRouteRuleFields = decisions{
	"Name":        send(),
	"Matches":     send(),
	"Filters":     change("see grpcRouteFilterFields"),
	"BackendRefs": change("see routeBackendFields"),

	"SessionPersistence": drop(versionDependent),
}

const (
	versionDependent = "versions and channels of the Gateway API differ in its fields"
	namesExtension   = "it names an object of the consumer's controller, and without the filter the provider might allow more requests"
)

var httpRouteFilterFields = decisions{
	"Type":                   send(),
	"RequestHeaderModifier":  send(),
	"ResponseHeaderModifier": send(),
	"RequestMirror":          change("see requestMirrorFields"),
	"RequestRedirect":        send(),
	"URLRewrite":             send(),
	"CORS":                   send(),

	"ExternalAuth": refuse(ReasonFilterNotSent, "the provider would use another authorization server, or none"),
	"ExtensionRef": refuse(ReasonFilterNotSent, namesExtension),
}

var grpcRouteFilterFields = decisions{
	"Type":                   send(),
	"RequestHeaderModifier":  send(),
	"ResponseHeaderModifier": send(),
	"RequestMirror":          change("see requestMirrorFields"),

	"ExtensionRef": refuse(ReasonFilterNotSent, namesExtension),
}

// sentFilters are the types of filters that are sent. A filter of a newer API is refused, because this
// version does not know what the filter keeps out.
var sentFilters = []string{
	string(gatewayv1.HTTPRouteFilterRequestHeaderModifier), string(gatewayv1.HTTPRouteFilterResponseHeaderModifier),
	string(gatewayv1.HTTPRouteFilterRequestRedirect), string(gatewayv1.HTTPRouteFilterURLRewrite),
	string(gatewayv1.HTTPRouteFilterRequestMirror), string(gatewayv1.HTTPRouteFilterCORS),
}

var (
	httpRouteSpecPlan          = planFor[gatewayv1.HTTPRouteSpec](routeSpecFields)
	grpcRouteSpecPlan          = planFor[gatewayv1.GRPCRouteSpec](routeSpecFields)
	commonRouteSpecPlan        = planFor[gatewayv1.CommonRouteSpec](commonRouteSpecFields)
	parentReferencePlan        = planFor[gatewayv1.ParentReference](parentReferenceFields)
	httpRouteRulePlan          = planFor[gatewayv1.HTTPRouteRule](httpRouteRuleFields)
	grpcRouteRulePlan          = planFor[gatewayv1.GRPCRouteRule](grpcRouteRuleFields)
	httpBackendPlan            = planFor[gatewayv1.HTTPBackendRef](routeBackendFields)
	grpcBackendPlan            = planFor[gatewayv1.GRPCBackendRef](routeBackendFields)
	backendRefPlan             = planFor[gatewayv1.BackendRef](backendRefFields)
	backendObjectReferencePlan = planFor[gatewayv1.BackendObjectReference](backendObjectReferenceFields)
	httpRouteFilterPlan        = planFor[gatewayv1.HTTPRouteFilter](httpRouteFilterFields)
	grpcRouteFilterPlan        = planFor[gatewayv1.GRPCRouteFilter](grpcRouteFilterFields)
	requestMirrorPlan          = planFor[gatewayv1.HTTPRequestMirrorFilter](requestMirrorFields)
)
