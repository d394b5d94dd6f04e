package route

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/internal/engine/kind"
)

// parts are the parts of a route of either kind.
type parts struct {
	parents   *[]gatewayv1.ParentReference
	hostnames *[]gatewayv1.Hostname
	status    *gatewayv1.RouteStatus
}

func sampleHTTP(namespace, name, _ string) kind.Sample[*gatewayv1.HTTPRoute] {
	route := &gatewayv1.HTTPRoute{ObjectMeta: kind.SampleMeta(namespace, name)}
	route.Spec.Rules = []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: backend(name)}}}}
	return sample(route, name, func(r *gatewayv1.HTTPRoute) parts {
		return parts{&r.Spec.ParentRefs, &r.Spec.Hostnames, &r.Status.RouteStatus}
	})
}

func sampleGRPC(namespace, name, _ string) kind.Sample[*gatewayv1.GRPCRoute] {
	route := &gatewayv1.GRPCRoute{ObjectMeta: kind.SampleMeta(namespace, name)}
	route.Spec.Rules = []gatewayv1.GRPCRouteRule{{BackendRefs: []gatewayv1.GRPCBackendRef{{BackendRef: backend(name)}}}}
	return sample(route, name, func(r *gatewayv1.GRPCRoute) parts {
		return parts{&r.Spec.ParentRefs, &r.Spec.Hostnames, &r.Status.RouteStatus}
	})
}

func backend(service string) gatewayv1.BackendRef {
	return gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(service), Port: ptr.To[gatewayv1.PortNumber](80)}}
}

// sample is a route with one Gateway, and one host.
func sample[T Route](route T, name string, of func(T) parts) kind.Sample[T] {
	host := func(labels string) []gatewayv1.Hostname {
		return []gatewayv1.Hostname{gatewayv1.Hostname(labels + "." + kind.SampleDomain)}
	}
	*of(route).parents, *of(route).hostnames = []gatewayv1.ParentReference{parent()}, host(name)
	said := func(remote T, controller, condition, reason string) {
		of(remote).status.Parents = []gatewayv1.RouteParentStatus{{
			ParentRef: (*of(remote).parents)[0], ControllerName: gatewayv1.GatewayController("example.com/" + controller),
			Conditions: []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.Unix(1e9, 0)}},
		}}
	}
	return kind.Sample[T]{
		Object: route,
		Shows: func(r T) string {
			at, hosts := (*of(r).parents)[0], *of(r).hostnames
			return strings.Join([]string{r.GetLabels()[kind.SampleLabel], string(*at.Namespace), string(at.Name), string(hosts[0])}, ",")
		},
		Change: func(local T) {
			local.GetLabels()[kind.SampleLabel], *of(local).hostnames = "changed", host("after-the-change")
		},
		Drift: func(remote T) { *of(remote).hostnames = host("after-the-drift") },
		Hostile: func(remote T, word string) {
			kind.HostileMeta(remote, word)
			*of(remote).hostnames = host(word)
			said(remote, word, "example.com/"+word, "Said")
		},
		Report: func(remote T) { said(remote, "gateways", string(gatewayv1.RouteConditionAccepted), "Accepted") },
		Reported: func(r T) string {
			var all []string
			for _, entry := range of(r).status.Parents {
				for _, c := range entry.Conditions {
					all = append(all, c.Type+"="+string(c.Status)+": "+c.Reason)
				}
			}
			return strings.Join(all, ",")
		},
	}
}

// parent is the Gateway of samples.
func parent() gatewayv1.ParentReference {
	namespace, name, _ := strings.Cut(kind.SampleGateway, "/")
	return gatewayv1.ParentReference{Namespace: ptr.To(gatewayv1.Namespace(namespace)), Name: gatewayv1.ObjectName(name)}
}
