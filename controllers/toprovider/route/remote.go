package route

import (
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Reasons why a route is not sent, or is changed on the way; see HTTPToRemote and GRPCToRemote.
const (
	// ReasonFilterNotSent: the route has a filter that is not sent to providers.
	ReasonFilterNotSent = "FilterNotSent"
	// ReasonBackendElsewhere: a backend of the route is not a Service in the route's namespace.
	ReasonBackendElsewhere = "BackendElsewhere"
	// ReasonNotAcceptedHere: a Gateway of the consumer refuses the route, and no other Gateway of the
	// route is mapped.
	ReasonNotAcceptedHere = "NotAcceptedHere"
	// ReasonFieldsLeftOut: the route is sent without its retries or session persistence.
	ReasonFieldsLeftOut = "FieldsLeftOut"
)

// Route is a kind of route of the Gateway API that Spillway sends to providers.
type Route interface {
	metav1.Object
	runtime.Object
	*gatewayv1.HTTPRoute | *gatewayv1.GRPCRoute
}

// routeGoes reports whether a parent of a route is mapped to a Gateway of the provider. Such routes are
// sent. All others are served elsewhere.
func routeGoes[T Route](local T, gateways field.Gateways) bool {
	return slices.ContainsFunc(partsOf(local).ParentRefs, func(p gatewayv1.ParentReference) bool {
		_, mapped := remoteParent(&p, local.GetNamespace(), gateways)
		return mapped
	})
}

// routeRefusal says why a route is not sent with these limits, or returns nil. remote is the result of
// HTTPToRemote or GRPCToRemote. hosts are the patterns in the ClusterBinding. If there are none, all hosts
// count that the provider allows. A route without hostnames serves the hosts of its Gateway, which may
// be every host.
func routeRefusal[T Route](local, remote T, t field.Target, limits *field.Limits, hosts field.HostPatterns) *field.Problem {
	if limits == nil {
		limits = &field.Limits{}
	}
	if refusal := field.MetadataTooLarge(local, limits); refusal != nil { // Its annotations are not cached.
		return refusal
	}
	for _, p := range partsOf(remote).ParentRefs {
		gateway := string(*p.Namespace) + "/" + string(p.Name)
		if !field.ListsOrAll(limits.Gateways, gateway) {
			return field.Refuse(field.ReasonClassNotAllowed, "spec.parentRefs: the provider does not allow the Gateway %s (%s in ConfigMap spillway-provider/limits)", gateway, field.LimitGateways)
		}
	}
	all := []field.RoutedHost{{Field: "spec.hostnames", Host: field.All}}
	if names := *partsOf(local).hostnames; len(names) > 0 {
		all = nil
		for i, name := range names {
			all = append(all, field.RoutedHost{Field: fmt.Sprintf("spec.hostnames[%d]", i), Host: string(name)})
		}
	}
	if refusal := field.HostRefusal(all, hosts, field.HostsFor(limits.IngressHosts, t.Mark.Account)); refusal != nil {
		return refusal
	}
	return field.AnnotationRefusal(local, "the route", limits)
}

// Merge returns remote with the spec of desired, which HTTPToRemote or GRPCToRemote made.
func Merge[T Route](desired, remote T) T {
	merged := field.Merged(desired, remote)
	reflect.ValueOf(partsOf(merged).spec).Elem().Set(reflect.ValueOf(partsOf(desired).spec).Elem())
	return merged
}

// routeParts points to the fields that both kinds of routes have.
type routeParts struct {
	spec any // A pointer.
	*gatewayv1.CommonRouteSpec
	*gatewayv1.RouteStatus
	hostnames *[]gatewayv1.Hostname
}

// partsOf returns pointers into a route. They are nil for any other object.
func partsOf(route any) routeParts {
	switch route := route.(type) {
	case *gatewayv1.HTTPRoute:
		return routeParts{&route.Spec, &route.Spec.CommonRouteSpec, &route.Status.RouteStatus, &route.Spec.Hostnames}
	case *gatewayv1.GRPCRoute:
		return routeParts{&route.Spec, &route.Spec.CommonRouteSpec, &route.Status.RouteStatus, &route.Spec.Hostnames}
	}
	return routeParts{}
}

// parentKey identifies the parent of a route, with all defaults filled in.
type parentKey struct {
	types.NamespacedName
	section gatewayv1.SectionName
	port    gatewayv1.PortNumber
}

// keyOf returns the key of a parent of a route in a namespace. It returns false if the parent is not a
// Gateway. A Service of a mesh, for example, would catch traffic within the provider.
func keyOf(parent *gatewayv1.ParentReference, namespace string) (parentKey, bool) {
	gateway := types.NamespacedName{Namespace: string(ptr.Deref(parent.Namespace, gatewayv1.Namespace(namespace))), Name: string(parent.Name)}
	return parentKey{gateway, ptr.Deref(parent.SectionName, ""), ptr.Deref(parent.Port, 0)},
		ptr.Deref(parent.Group, gatewayv1.GroupName) == gatewayv1.GroupName && ptr.Deref(parent.Kind, kindGateway) == kindGateway
}

const (
	kindGateway gatewayv1.Kind = "Gateway"
	kindService gatewayv1.Kind = "Service"
)

// remoteParent returns the provider's Gateway for a parent of a local route. namespace is the namespace
// of the route.
func remoteParent(local *gatewayv1.ParentReference, namespace string, gateways field.Gateways) (remote gatewayv1.ParentReference, mapped bool) {
	key, is := keyOf(local, namespace)
	if !is {
		return remote, false
	}
	gateway, mapped := gateways(key.NamespacedName)
	remote = parentReferencePlan.Allowed(local)
	remote.Group, remote.Kind = ptr.To[gatewayv1.Group](gatewayv1.GroupName), ptr.To(kindGateway)
	remote.Namespace, remote.Name = ptr.To(gatewayv1.Namespace(gateway.Namespace)), gatewayv1.ObjectName(gateway.Name)
	return remote, mapped
}

// routeTranslation translates one route.
type routeTranslation struct {
	namespace string // Of the local route.
	gateways  field.Gateways
	// parents are the entries in the status of the local route, from controllers in the consumer and in
	// providers.
	parents []gatewayv1.RouteParentStatus
	refusal *field.Problem // The first refusal.
	omitted []field.Omission
}

func (r *routeTranslation) refuse(refusal *field.Problem) {
	if r.refusal == nil {
		r.refusal = refusal
	}
}

// refuseWhole refuses a route for reasons that do not depend on its rules.
func (r *routeTranslation) refuseWhole(kind string, local metav1.Object) {
	if refusal := field.NeverSynced(kind, local); refusal != nil {
		r.refuse(refusal)
	}
	if isCutRoute(local) {
		r.refuse(field.Refuse(field.ReasonRouteTooLarge, "%s %s: spec takes more than %d KiB of memory: split it up", kind, local.GetName(), mostRoute>>10))
	}
}

// annotate records on the remote route what the route lacks.
func (r *routeTranslation) annotate(remote metav1.Object) {
	if len(r.omitted) > 0 {
		remote.GetAnnotations()[v1alpha1.AnnotationLeftOut] = field.DescribeOmissions("left out in the provider: ", r.omitted)
	}
}

// leaveOut records that a field of a rule is left out, if the rule has that field.
func (r *routeTranslation) leaveOut(path string, has bool) {
	if has {
		r.omitted = append(r.omitted, field.Omission{Field: path, Why: versionDependent})
	}
}

// backend returns the Service to which the remote route sends requests: the remote Service of the same
// name.
func (r *routeTranslation) backend(path string, local gatewayv1.BackendObjectReference) gatewayv1.BackendObjectReference {
	const only = "a route is sent only if all its backends are Services of its own namespace"
	group, kind := ptr.Deref(local.Group, ""), ptr.Deref(local.Kind, kindService)
	switch namespace := string(ptr.Deref(local.Namespace, gatewayv1.Namespace(r.namespace))); {
	case group != "":
		r.refuse(field.Refuse(ReasonBackendElsewhere, "%s.group is %q: %s", path, group, only))
	case kind != kindService:
		r.refuse(field.Refuse(ReasonBackendElsewhere, "%s.kind is %q: %s", path, kind, only))
	case namespace != r.namespace:
		r.refuse(field.Refuse(ReasonBackendElsewhere, "%s.namespace is %q: %s", path, namespace, only))
	}
	return backendObjectReferencePlan.Allowed(&local)
}

func (r *routeTranslation) backendRef(path string, local gatewayv1.BackendRef) gatewayv1.BackendRef {
	remote := backendRefPlan.Allowed(&local)
	remote.BackendObjectReference = r.backend(path, local.BackendObjectReference)
	return remote
}

// filters converts filters in place, for the remote route. Without one of them, the remote route might
// let more requests in. So it sends all, or refuses the route. parts returns the type of a filter, and
// its mirror or nil.
func filters[F any](r *routeTranslation, path string, p field.Plan[F], all []F, parts func(*F) (string, *gatewayv1.HTTPRequestMirrorFilter)) {
	for i := range all {
		at := fmt.Sprintf("%s.filters[%d]", path, i)
		kind, mirror := parts(&all[i])
		if found := p.Violation(&all[i], field.PodSecurityBaseline); found != nil {
			r.refuse(found.Refusal(at))
		} else if !slices.Contains(sentFilters, kind) {
			r.refuse(field.Refuse(ReasonFilterNotSent, "%s.type is %q: filters of this type are not sent, and without it the provider might allow more requests", at, kind))
		}
		if mirror != nil {
			remote := requestMirrorPlan.Allowed(mirror)
			remote.BackendRef = r.backend(at+".requestMirror.backendRef", mirror.BackendRef)
			*mirror = remote
		}
		all[i] = p.Allowed(&all[i])
	}
}
