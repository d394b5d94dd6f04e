package route

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// HTTPToRemote returns the remote HTTPRoute of local, for which routeGoes must be true. Its parents are
// the mapped Gateways, and its backends are the remote Services of the same names. It refuses a route
// with a filter that is not sent, or with another kind of backend. LeftOut of the result says what it
// lacks.
func HTTPToRemote(local *gatewayv1.HTTPRoute, t field.Target, gateways field.Gateways) (*gatewayv1.HTTPRoute, *field.Problem) {
	r := &routeTranslation{namespace: local.Namespace, gateways: gateways, parents: local.Status.Parents}
	r.refuseWhole("HTTPRoute", local)
	remote := &gatewayv1.HTTPRoute{ObjectMeta: field.Metadata(local, t), Spec: r.httpSpec(local.Spec.DeepCopy())}
	if r.refusal != nil {
		return nil, r.refusal
	}
	r.annotate(remote)
	return remote, nil
}

// httpSpec returns the spec of the remote route. It changes local.
func (r *routeTranslation) httpSpec(local *gatewayv1.HTTPRouteSpec) gatewayv1.HTTPRouteSpec {
	spec := httpRouteSpecPlan.Allowed(local)
	spec.CommonRouteSpec = r.common(spec.CommonRouteSpec)
	for i := range spec.Rules {
		rule, path := httpRouteRulePlan.Allowed(&spec.Rules[i]), fmt.Sprintf("spec.rules[%d]", i)
		r.leaveOut(path+".retry", spec.Rules[i].Retry != nil)
		r.leaveOut(path+".sessionPersistence", spec.Rules[i].SessionPersistence != nil)
		filters(r, path, httpRouteFilterPlan, rule.Filters, partsOfHTTPFilter)
		for j := range rule.BackendRefs {
			backend, path := httpBackendPlan.Allowed(&rule.BackendRefs[j]), fmt.Sprintf("%s.backendRefs[%d]", path, j)
			backend.BackendRef = r.backendRef(path, backend.BackendRef)
			filters(r, path, httpRouteFilterPlan, backend.Filters, partsOfHTTPFilter)
			rule.BackendRefs[j] = backend
		}
		spec.Rules[i] = rule
	}
	return spec
}

func partsOfHTTPFilter(f *gatewayv1.HTTPRouteFilter) (string, *gatewayv1.HTTPRequestMirrorFilter) {
	return string(f.Type), f.RequestMirror
}
