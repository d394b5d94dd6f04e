package route

import (
	"fmt"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/internal/field"
)

// GRPCToRemote returns the remote GRPCRoute of local. It follows the same rules as HTTPToRemote.
func GRPCToRemote(local *gatewayv1.GRPCRoute, t field.Target, gateways field.Gateways) (*gatewayv1.GRPCRoute, *field.Problem) {
	r := &routeTranslation{namespace: local.Namespace, gateways: gateways, parents: local.Status.Parents}
	r.refuseWhole("GRPCRoute", local)
	remote := &gatewayv1.GRPCRoute{ObjectMeta: field.Metadata(local, t), Spec: r.grpcSpec(local.Spec.DeepCopy())}
	if r.refusal != nil {
		return nil, r.refusal
	}
	r.annotate(remote)
	return remote, nil
}

// grpcSpec returns the spec of the remote route. It changes local.
func (r *routeTranslation) grpcSpec(local *gatewayv1.GRPCRouteSpec) gatewayv1.GRPCRouteSpec {
	spec := grpcRouteSpecPlan.Allowed(local)
	spec.CommonRouteSpec = r.common(spec.CommonRouteSpec)
	for i := range spec.Rules {
		rule, path := grpcRouteRulePlan.Allowed(&spec.Rules[i]), fmt.Sprintf("spec.rules[%d]", i)
		r.leaveOut(path+".sessionPersistence", spec.Rules[i].SessionPersistence != nil)
		filters(r, path, grpcRouteFilterPlan, rule.Filters, partsOfGRPCFilter)
		for j := range rule.BackendRefs {
			backend, path := grpcBackendPlan.Allowed(&rule.BackendRefs[j]), fmt.Sprintf("%s.backendRefs[%d]", path, j)
			backend.BackendRef = r.backendRef(path, backend.BackendRef)
			filters(r, path, grpcRouteFilterPlan, backend.Filters, partsOfGRPCFilter)
			rule.BackendRefs[j] = backend
		}
		spec.Rules[i] = rule
	}
	return spec
}

func partsOfGRPCFilter(f *gatewayv1.GRPCRouteFilter) (string, *gatewayv1.HTTPRequestMirrorFilter) {
	return string(f.Type), f.RequestMirror
}
