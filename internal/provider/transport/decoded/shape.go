package decoded

import (
	"reflect"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"
)

// shape describes a Protobuf message by its field numbers.
type shape struct{ fields []field }

// of returns the field of that number. An unknown field takes nothing.
func (s *shape) of(number int32) field {
	if int(number) < len(s.fields) {
		return s.fields[number]
	}
	return field{}
}

func (s *shape) set(number int, f field) *shape {
	for len(s.fields) <= number {
		s.fields = append(s.fields, field{})
	}
	s.fields[number] = f
	return s
}

// field is what a field takes, in bytes of memory.
type field struct {
	each    int64  // For each occurrence.
	perByte int64  // For each of its bytes, if it is no message.
	of      *shape // If it is a message.
	name    string // As in JSON.
}

const (
	// grown is the factor for a slice that grows one by one, including the arrays that it outgrew.
	grown = 2
	// PerEntry is what a map takes for each entry, besides key and value.
	PerEntry = 16
	// dense is what a byte takes in contents that are not parsed here: packed numbers, and quantities.
	dense = 8
)

// kinds has all kinds that a client may decode.
var kinds = func() map[schema.GroupVersionKind]reflect.Type {
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	utilruntime.Must(metricsv1beta1.AddToScheme(s))
	utilruntime.Must(metav1.AddMetaToScheme(s))
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s.AllKnownTypes() // A new map each time.
}()

// names has the names of the kinds. groups has their API groups, which API servers serve in Protobuf.
var names, groups = func() (names, groups map[string]bool) {
	names, groups = map[string]bool{}, map[string]bool{}
	for gvk := range kinds {
		names[gvk.Kind], groups[gvk.Group] = true, true
	}
	return names, groups
}()

// InProtobuf reports whether API servers serve a group in Protobuf.
func InProtobuf(group string) bool { return groups[group] }

// unversioned is the one kind that API servers send without a version.
const unversioned = "APIResourceList"

var (
	mu     sync.Mutex
	shapes = map[reflect.Type]*shape{}
)

// shapeOf returns the shape of a kind. The second result is false if the kind is unknown.
func shapeOf(apiVersion, kind string) (*shape, bool) {
	if apiVersion == "" && kind == unversioned {
		apiVersion = "v1"
	}
	t, ok := kinds[schema.FromAPIVersionAndKind(apiVersion, kind)]
	if !ok {
		return nil, false
	}
	mu.Lock()
	defer mu.Unlock()
	return structure(t), true
}

// structure returns the shape of a struct. The lock must be held.
func structure(t reflect.Type) *shape {
	if known, ok := shapes[t]; ok {
		return known
	}
	s := &shape{}
	shapes[t] = s // First, since a field may have the same type.
	for i := range t.NumField() {
		tag := strings.Split(t.Field(i).Tag.Get("protobuf"), ",")
		const parts = 3 // Wire type, number, and whether it is repeated.
		if len(tag) < parts {
			continue
		}
		if number, err := strconv.Atoi(tag[1]); err == nil {
			f := fieldOf(t.Field(i).Type, tag[2] == "rep")
			f.name, _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
			s.set(number, f)
		}
	}
	return s
}

// fieldOf describes a field of a type. A repeated one is a slice or a map.
func fieldOf(t reflect.Type, repeated bool) field {
	switch {
	case t == quantityType:
		return field{of: amount}
	case t.Kind() == reflect.Pointer:
		f := fieldOf(t.Elem(), repeated)
		f.each += size(t.Elem())
		return f
	case t.Kind() == reflect.Map:
		entry := (&shape{}).set(1, fieldOf(t.Key(), false)).set(2, fieldOf(t.Elem(), false))
		return field{each: grown * (size(t.Key()) + size(t.Elem()) + PerEntry), of: entry}
	case t.Kind() == reflect.Slice && !isBytes(t) && (repeated || t.Name() == ""): // Some tags say otherwise.
		f := fieldOf(t.Elem(), false)
		f.each += grown * size(t.Elem())
		if f.of == nil && f.perByte == 0 {
			f.perByte = dense // Numbers may be packed.
		}
		return f
	case t.Kind() == reflect.String, isBytes(t):
		return field{perByte: 1}
	case t.Kind() == reflect.Slice: // A named list is a message.
		return field{of: (&shape{}).set(1, fieldOf(t, true))}
	case t.Kind() == reflect.Struct:
		if s := structure(t); len(s.fields) > 0 {
			return field{of: s}
		}
		return field{perByte: dense}
	}
	return field{}
}

// quantityType is sent as a message of one string, which its Go type does not show.
var quantityType = reflect.TypeFor[resource.Quantity]()

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func size(t reflect.Type) int64 { return int64(t.Size()) } //nolint:gosec // The size of a type.
