package budget

import (
	"encoding/json"
	"reflect"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/transport/decoded"
)

// perObject is what the caches, their indexes and the ledger need per object, in bytes, besides the object
// itself.
const perObject = 512

// amount is the size of one or many objects.
type amount struct {
	objects int64
	// memory is in bytes, as held.
	memory int64
	// sent is the text in bytes, including content that is not held: about the size of the object in an encoded
	// list.
	sent int64
}

func (a amount) plus(b amount) amount {
	return amount{a.objects + b.objects, a.memory + b.memory, a.sent + b.sent}
}

func (a amount) minus(b amount) amount {
	return amount{a.objects - b.objects, a.memory - b.memory, a.sent - b.sent}
}

// amountOf measures an object. Its encoded size says little about memory: a container without fields takes two
// bytes encoded, and about 800 in memory.
func amountOf(object client.Object) amount {
	a := amount{objects: 1, memory: perObject, sent: field.ContentSize(object)}
	a.add(reflect.ValueOf(object))
	switch object.(type) {
	case *gatewayv1.HTTPRoute, *gatewayv1.GRPCRoute:
		a.memory = max(a.memory, inJSON(object))
	}
	return a
}

// inJSON returns the counted size of an object in a JSON list, which is more than its real size.
func inJSON(object client.Object) int64 {
	text, err := json.Marshal(object)
	if err != nil {
		return 0 // Each object can be encoded.
	}
	took, _ := (&decoded.JSON{Routes: true}).Read(text) // It has no kind.
	return took
}

// timeType refers to a time zone that all times of a process share. If it were counted for each time, it would
// be the largest part of an object.
var timeType = reflect.TypeFor[time.Time]()

// add counts what a value refers to, but not the value itself.
func (a *amount) add(v reflect.Value) {
	if v.Type() == timeType {
		return
	}
	switch v.Kind() { //nolint:exhaustive // All others refer to nothing.
	case reflect.String:
		a.memory += int64(v.Len())
		a.sent += int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			a.memory += int64(v.Elem().Type().Size()) //nolint:gosec // The size of a type.
			a.add(v.Elem())
		}
	case reflect.Slice:
		a.memory += int64(v.Cap()) * int64(v.Type().Elem().Size()) //nolint:gosec // The size of a type.
		a.elements(v)
	case reflect.Array:
		a.elements(v)
	case reflect.Map:
		a.entries(v)
	case reflect.Struct:
		for i := range v.NumField() {
			a.add(v.Field(i))
		}
	}
}

func (a *amount) elements(v reflect.Value) {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		a.sent += int64(v.Len())
		return // There may be a million bytes, and they refer to nothing.
	}
	for i := range v.Len() {
		a.add(v.Index(i))
	}
}

func (a *amount) entries(v reflect.Value) {
	each := int64(v.Type().Key().Size()) + int64(v.Type().Elem().Size()) + decoded.PerEntry //nolint:gosec // The sizes of types.
	a.memory += int64(v.Len()) * each
	for iterator := v.MapRange(); iterator.Next(); {
		a.add(iterator.Key())
		a.add(iterator.Value())
	}
}
