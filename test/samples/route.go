package samples

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// parts are the parts of a route of either kind.
type parts struct {
	parents   *[]gatewayv1.ParentReference
	hostnames *[]gatewayv1.Hostname
	status    *gatewayv1.RouteStatus
}

// HTTPRoute is an HTTPRoute with one Gateway, and one host.
func HTTPRoute(namespace, name, _ string) Sample[*gatewayv1.HTTPRoute] {
	obj := &gatewayv1.HTTPRoute{ObjectMeta: meta(namespace, name)}
	obj.Spec.Rules = []gatewayv1.HTTPRouteRule{{BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: backend(name)}}}}
	return route(obj, name, func(r *gatewayv1.HTTPRoute) parts {
		return parts{&r.Spec.ParentRefs, &r.Spec.Hostnames, &r.Status.RouteStatus}
	})
}

// grpcRoute is the same as a GRPCRoute.
func grpcRoute(namespace, name, _ string) Sample[*gatewayv1.GRPCRoute] {
	obj := &gatewayv1.GRPCRoute{ObjectMeta: meta(namespace, name)}
	obj.Spec.Rules = []gatewayv1.GRPCRouteRule{{BackendRefs: []gatewayv1.GRPCBackendRef{{BackendRef: backend(name)}}}}
	return route(obj, name, func(r *gatewayv1.GRPCRoute) parts {
		return parts{&r.Spec.ParentRefs, &r.Spec.Hostnames, &r.Status.RouteStatus}
	})
}

func backend(service string) gatewayv1.BackendRef {
	return gatewayv1.BackendRef{BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(service), Port: ptr.To[gatewayv1.PortNumber](80)}}
}

// route is a route with one Gateway, and one host.
func route[T client.Object](obj T, name string, of func(T) parts) Sample[T] {
	host := func(labels string) []gatewayv1.Hostname {
		return []gatewayv1.Hostname{gatewayv1.Hostname(labels + "." + Domain)}
	}
	*of(obj).parents, *of(obj).hostnames = []gatewayv1.ParentReference{parent()}, host(name)
	said := func(remote T, controller, condition, reason string) {
		of(remote).status.Parents = []gatewayv1.RouteParentStatus{{
			ParentRef: (*of(remote).parents)[0], ControllerName: gatewayv1.GatewayController("example.com/" + controller),
			Conditions: []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue, Reason: reason, LastTransitionTime: metav1.Unix(1e9, 0)}},
		}}
	}
	return Sample[T]{
		Object: obj,
		Shows: func(r T) string {
			at, hosts := (*of(r).parents)[0], *of(r).hostnames
			return strings.Join([]string{r.GetLabels()[label], string(*at.Namespace), string(at.Name), string(hosts[0])}, ",")
		},
		Change: func(local T) {
			local.GetLabels()[label], *of(local).hostnames = "changed", host("after-the-change")
		},
		Drift: func(remote T) { *of(remote).hostnames = host("after-the-drift") },
		Hostile: func(remote T, word string) {
			hostileMeta(remote, word)
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
	namespace, name, _ := strings.Cut(gateway, "/")
	return gatewayv1.ParentReference{Namespace: ptr.To(gatewayv1.Namespace(namespace)), Name: gatewayv1.ObjectName(name)}
}
