package decoded

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// calm is an ordinary quantity, and fierce a forbidden one of the same length.
const calm, fierce = "1500m", "15e19"

// TestQuantitiesOfEachKind puts one that is too large into each quantity of each kind
// that client-go knows, one by one. Anywhere else it is only text.
func TestQuantitiesOfEachKind(t *testing.T) {
	places := 0
	for gvk, kind := range scheme.Scheme.AllKnownTypes() {
		object, ok := reflect.New(kind).Interface().(kruntime.Object)
		if _, proto := object.(interface{ Marshal() ([]byte, error) }); !ok || !proto || gvk.Version == kruntime.APIVersionInternal || gvk.Kind == "WatchEvent" {
			continue
		}
		fill(reflect.ValueOf(object).Elem(), fierce, 1, 0)
		object.GetObjectKind().SetGroupVersionKind(gvk)
		raw := encode(t, object)
		if _, err := NewObject().Read(raw); err != nil {
			t.Errorf("%s: %v", gvk, err)
		}
		for at := range raw {
			if !bytes.HasPrefix(raw[at:], []byte(calm)) {
				continue
			}
			places++
			bad := slices.Concat(raw[:at], []byte(fierce), raw[at+len(fierce):])
			var refused *QuantityError
			if _, err := NewObject().Read(bad); !errors.As(err, &refused) || refused.Field == "" {
				t.Errorf("%s, at %d (%q): %v", gvk, at, raw[max(0, at-30):at], err)
			}
		}
	}
	if places < 500 {
		t.Errorf("there are %d places", places)
	}
}

// allocatable is a node with that much of one resource, in Protobuf.
func allocatable(cpu string) string {
	field := func(number byte, content string) string {
		return string(binary.AppendUvarint([]byte{number<<3 | 2}, uint64(len(content)))) + content
	}
	status := field(2, field(1, "cpu")+field(2, field(1, cpu)))
	return magic + field(1, field(1, "v1")+field(2, "Node")) + field(2, field(3, status))
}

// TestQuantities has ordinary ones, and ones from somebody who means harm.
func TestQuantities(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		field string
	}{
		"too large":    {allocatable("11111111111111111111e10000000"), "allocatable"},
		"too small":    {allocatable("1e-19"), "allocatable"},
		"too long":     {allocatable(strings.Repeat("1", 41)), "allocatable"},
		"of some size": {allocatable("9e18"), ""},
		"of nothing":   {allocatable(""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			for pieces := 1; pieces < 8; pieces++ {
				meter := NewObject()
				var err error
				for piece := range slices.Chunk([]byte(test.text), pieces) {
					if _, err = meter.Read(piece); err != nil {
						break
					}
				}
				var refused *QuantityError
				if errors.As(err, &refused) != (test.field != "") || refused != nil && refused.Field != test.field || refused == nil && err != nil {
					t.Errorf("in pieces of %d: %v", pieces, err)
				}
			}
		})
	}
}
