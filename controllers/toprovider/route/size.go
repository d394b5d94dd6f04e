package route

import (
	"reflect"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// mostRoute is how much memory, in bytes, the spec of a route in the cache may take. An API server
// allows a thousand filters with dozens of headers each. So a single route could take megabytes in
// every manager.
const mostRoute = 128 << 10

// cutHost is the hostname of a route that was too large for the cache. No API server accepts it, so no
// user can write it.
const cutHost gatewayv1.Hostname = "spillway.io/TooLarge"

// trim removes the rules and hostnames of a route that is too large for the cache. It keeps the
// parents, which decide where the route is sent. A second call changes nothing.
func trim[T Route](local T, _ bool) {
	route := partsOf(local)
	if memoryOf(reflect.ValueOf(route.spec)) <= mostRoute {
		return
	}
	parents := *route.CommonRouteSpec
	reflect.ValueOf(route.spec).Elem().SetZero()
	*route.CommonRouteSpec, *route.hostnames = parents, []gatewayv1.Hostname{cutHost}
}

func isCutRoute(route any) bool { return slices.Contains(*partsOf(route).hostnames, cutHost) }

// memoryOf returns how much memory, in bytes, a value without maps takes, without the value itself.
func memoryOf(v reflect.Value) (size int) {
	switch v.Kind() {
	case reflect.String:
		size = v.Len()
	case reflect.Pointer:
		if !v.IsNil() {
			size = int(v.Type().Elem().Size()) + memoryOf(v.Elem())
		}
	case reflect.Slice:
		size = v.Len() * int(v.Type().Elem().Size())
		for i := range v.Len() {
			size += memoryOf(v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			size += memoryOf(v.Field(i))
		}
	}
	return size
}
