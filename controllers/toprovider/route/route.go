// Package route sends the HTTPRoutes and GRPCRoutes of offloaded namespaces whose Gateway the
// ClusterBinding maps.
package route

import (
	"k8s.io/apimachinery/pkg/types"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
)

// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes;grpcroutes,verbs=list;watch
// +kubebuilder:rbac:groups=gateway.networking.k8s.io,resources=httproutes/status;grpcroutes/status,verbs=patch

// most is how many routes of a kind, and of one namespace, are sent, as with Ingresses.
const most = 500

// HTTP is the kind of HTTPRoutes.
func HTTP() kind.Kind[*gatewayv1.HTTPRoute] {
	routes := kind.NewCopy[gatewayv1.HTTPRoute, gatewayv1.HTTPRouteList]("httproute", kind.InMappedNamespace, translation[*gatewayv1.HTTPRoute]{send: HTTPToRemote})
	routes.Most, routes.Extension, routes.Trim = most, true, trim[*gatewayv1.HTTPRoute]
	return routes
}

// GRPC is the kind of GRPCRoutes.
func GRPC() kind.Kind[*gatewayv1.GRPCRoute] {
	routes := kind.NewCopy[gatewayv1.GRPCRoute, gatewayv1.GRPCRouteList]("grpcroute", kind.InMappedNamespace, translation[*gatewayv1.GRPCRoute]{send: GRPCToRemote})
	routes.Most, routes.Extension, routes.Trim = most, true, trim[*gatewayv1.GRPCRoute]
	return routes
}

type translation[T Route] struct {
	kind.Namespaced
	send func(local T, t field.Target, gateways field.Gateways) (T, *field.Problem)
}

var (
	_ decide.Choosing[*gatewayv1.HTTPRoute]  = translation[*gatewayv1.HTTPRoute]{}
	_ decide.Noticing[*gatewayv1.HTTPRoute]  = translation[*gatewayv1.HTTPRoute]{}
	_ decide.Reporting[*gatewayv1.HTTPRoute] = translation[*gatewayv1.HTTPRoute]{}
)

// Choose implements decide.Choosing. Spillway ignores routes at Gateways that no ClusterBinding maps.
func (translation[T]) Choose(local T, _ network.Reach, around decide.Inputs) (goes, known bool) {
	byAny := func(gateway types.NamespacedName) (remote types.NamespacedName, mapped bool) {
		return remote, around.Maps(v1alpha1.ClassGateway, gateway.String())
	}
	return routeGoes(local, around.Classes.Gateways) || routeGoes(local, byAny), true
}

// Remote implements decide.Translation.
func (r translation[T]) Remote(local T, t field.Target, around decide.Inputs) (T, *field.Problem) {
	if !routeGoes(local, around.Classes.Gateways) {
		return nil, &field.Problem{Reason: v1alpha1.ReasonClassNotMapped,
			Message: "spec.parentRefs: the ClusterBinding maps none of these Gateways; ask the platform engineer to add one to spec.classes"}
	}
	remote, refusal := r.send(local, t, around.Classes.Gateways)
	if refusal == nil {
		refusal = routeRefusal(local, remote, t, around.Limits, around.Hosts)
	}
	if refusal != nil {
		return nil, refusal
	}
	return remote, nil
}

// Merge implements decide.Translation.
func (translation[T]) Merge(desired, remote T) (T, bool) {
	return Merge(desired, remote), false
}

// Notice implements decide.Noticing: what the route lacks in the provider.
func (translation[T]) Notice(_, remote T, _ decide.Inputs) *field.Problem {
	left := field.LeftOut(remote)
	if left == "" {
		return nil
	}
	problem := field.Problemf(ReasonFieldsLeftOut, "%s", left)
	return &problem
}

// Report implements decide.Reporting: what the provider's controllers say of each Gateway.
func (translation[T]) Report(local, remote T, clusterID string, around decide.Inputs) (T, *field.Problem) {
	return ReportRoute(local, remote, clusterID, around.Classes.Gateways, around.Now), nil
}
