package fleet

import (
	"reflect"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// perObject is what the caches, their indexes and the ledger take for each object
// besides the object.
const perObject = 512

// perEntry is what a map takes for each of its entries besides key and value.
const perEntry = 16

// sizeOf is about how much memory an object takes. How much was sent says little:
// a container without any field is two bytes on the wire, and some 800 here.
func sizeOf(object client.Object) int64 {
	return perObject + within(reflect.ValueOf(object))
}

// timeType refers to a time zone that all times of a process share. Counted with
// each of them, it would be the largest part of an object.
var timeType = reflect.TypeFor[time.Time]()

// within is what a value refers to, itself not counted.
func within(v reflect.Value) int64 {
	if v.Type() == timeType {
		return 0
	}
	switch v.Kind() {
	case reflect.String:
		return int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return 0
		}
		return int64(v.Elem().Type().Size()) + within(v.Elem()) //nolint:gosec // The size of a type.
	case reflect.Slice:
		return int64(v.Cap())*int64(v.Type().Elem().Size()) + elements(v) //nolint:gosec // The size of a type.
	case reflect.Array:
		return elements(v)
	case reflect.Map:
		return entries(v)
	case reflect.Struct:
		var sum int64
		for i := range v.NumField() {
			sum += within(v.Field(i))
		}
		return sum
	default:
		return 0
	}
}

func elements(v reflect.Value) int64 {
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return 0 // Of bytes there may be a million, and they refer to nothing.
	}
	var sum int64
	for i := range v.Len() {
		sum += within(v.Index(i))
	}
	return sum
}

func entries(v reflect.Value) int64 {
	each := int64(v.Type().Key().Size()) + int64(v.Type().Elem().Size()) + perEntry //nolint:gosec // The sizes of types.
	sum := int64(v.Len()) * each
	for iterator := v.MapRange(); iterator.Next(); {
		sum += within(iterator.Key()) + within(iterator.Value())
	}
	return sum
}
