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
)

// shape is what a message of Protobuf is made of, by the numbers of its fields.
type shape struct{ fields []field }

// of is the field of that number; one that is not known takes nothing.
func (s *shape) of(number int32) field {
	if int(number) < len(s.fields) {
		return s.fields[number]
	}
	return field{}
}

// set makes a field known.
func (s *shape) set(number int, f field) *shape {
	for len(s.fields) <= number {
		s.fields = append(s.fields, field{})
	}
	s.fields[number] = f
	return s
}

// field is one of them, in bytes of memory.
type field struct {
	each    int64  // For each time that it comes.
	perByte int64  // For each byte of it, if it is no message.
	of      *shape // If it is a message.
	name    string // As in JSON.
}

const (
	// grown is how much more a slice takes that grows by one element after the
	// other, with what it has grown out of.
	grown = 2
	// PerEntry is what a map takes for each of its entries besides key and value.
	PerEntry = 16
	// dense is what a byte takes of what is not looked into: numbers that are sent
	// in a row, and quantities, which are parsed.
	dense = 8
)

// kinds are all that a client may decode an answer into.
var kinds = func() map[schema.GroupVersionKind]reflect.Type {
	s := runtime.NewScheme()
	utilruntime.Must(scheme.AddToScheme(s))
	utilruntime.Must(metav1.AddMetaToScheme(s))
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s.AllKnownTypes() // It makes a map of its own each time.
}()

// unversioned is the one kind that API servers send without its version.
const unversioned = "APIResourceList"

var (
	mu     sync.Mutex
	shapes = map[reflect.Type]*shape{}
)

// shapeOf is the shape of a kind. It reports whether there is such a kind.
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

// structure is the shape of a struct. The lock is held.
func structure(t reflect.Type) *shape {
	if known, ok := shapes[t]; ok {
		return known
	}
	s := &shape{}
	shapes[t] = s // Before its fields, one of which may be of the same type.
	for i := range t.NumField() {
		tag := strings.Split(t.Field(i).Tag.Get("protobuf"), ",")
		const parts = 3 // How it is sent, its number, and whether it is repeated.
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

// fieldOf is a field of a type. One that is repeated is a slice or a map.
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
			f.perByte = dense // Numbers may be sent in a row.
		}
		return f
	case t.Kind() == reflect.String, isBytes(t):
		return field{perByte: 1}
	case t.Kind() == reflect.Slice: // A list that has a name is a message of its own.
		return field{of: (&shape{}).set(1, fieldOf(t, true))}
	case t.Kind() == reflect.Struct:
		if s := structure(t); len(s.fields) > 0 {
			return field{of: s}
		}
		return field{perByte: dense}
	}
	return field{}
}

// quantityType is sent as a message of one text, which its Go type does not tell.
var quantityType = reflect.TypeFor[resource.Quantity]()

func isBytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8
}

func size(t reflect.Type) int64 { return int64(t.Size()) } //nolint:gosec // The size of a type.
