package decoded

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	kjson "sigs.k8s.io/json"
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
		inJSON, err := json.Marshal(object)
		if err != nil {
			t.Fatalf("%s: %v", gvk, err)
		}
		for form, raw := range map[string][]byte{"Protobuf": encode(t, object), "JSON": inJSON} {
			meter := func() Meter {
				return map[string]func() Meter{"Protobuf": func() Meter { return NewObject() }, "JSON": func() Meter { return &JSON{} }}[form]()
			}
			if _, err := meter().Read(raw); err != nil {
				t.Errorf("%s in %s: %v", gvk, form, err)
			}
			for at := range raw {
				if !bytes.HasPrefix(raw[at:], []byte(calm)) {
					continue
				}
				places++
				bad := slices.Concat(raw[:at], []byte(fierce), raw[at+len(fierce):])
				var refused *QuantityError
				if _, err := meter().Read(bad); !errors.As(err, &refused) || refused.Field == "" {
					t.Errorf("%s in %s, at %d (%q): %v", gvk, form, at, raw[max(0, at-30):at], err)
				}
			}
		}
	}
	if places < 1000 {
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
	node := func(quantity string) string { return `{"status":{"allocatable":{"cpu":` + quantity + `}}}` }
	for name, test := range map[string]struct {
		text  string
		field string
	}{
		"of Protobuf, too large":        {allocatable("11111111111111111111e10000000"), "allocatable"},
		"of Protobuf, too small":        {allocatable("1e-19"), "allocatable"},
		"of Protobuf, too long":         {allocatable(strings.Repeat("1", 41)), "allocatable"},
		"of Protobuf":                   {allocatable("9e18"), ""},
		"of Protobuf, of nothing":       {allocatable(""), ""},
		"text":                          {node(`"1e19"`), "allocatable"},
		"text with blanks":              {node(`" 1e19 "`), "allocatable"},
		"text that is too long":         {node(`"` + strings.Repeat("1", 41) + `"`), "allocatable"},
		"a number":                      {node(`1e19`), "allocatable"},
		"a number before a blank":       {node("1e19 \n"), "allocatable"},
		"a number before another":       {`{"status":{"allocatable":{"cpu":1e19,"memory":1}}}`, "allocatable"},
		"before its kind is known":      {`{"status":{"allocatable":{"cpu":1e19}},"kind":"Node"}`, "allocatable"},
		"in a list":                     {`{"items":[{},` + node(`"1"`) + `,` + node(`"1e19"`) + `]}`, "allocatable"},
		"in an event":                   {`{"type":"ADDED","object":` + node(`"1e19"`) + `}`, "allocatable"},
		"by a name in another writing":  {`{"status":{"\u0061llocatable":{"cpu":"1e19"}}}`, "allocatable"},
		"after one that is none":        {node(`{"a":[1]},"memory":"1e19"`), "allocatable"},
		"of a container":                {`{"spec":{"containers":[{"resources":{"limits":{"cpu":"1e19"}}}]}}`, "limits"},
		"after a pod that is fine":      {`{"spec":{"containers":[{}]}}` + "\n" + node(`"1e19"`), "allocatable"},
		"few":                           {node(`"1500m"`), ""},
		"a number of few":               {node(`1e18`), ""},
		"in lines of their own":         {node("\n" + strings.Repeat(" ", 100) + "\"1\"\n" + strings.Repeat(" ", 100)), ""},
		"an annotation":                 {`{"metadata":{"annotations":{"cpu":"1e19","limits":"1e19"}}}`, ""},
		"the value of a variable":       {`{"spec":{"containers":[{"env":[{"name":"1e19","value":"1e19"}]}]}}`, ""},
		"data":                          {`{"kind":"ConfigMap","data":{"capacity":"1e19"}}`, ""},
		"the name of a resource":        {`{"status":{"allocatable":{"1e19":"1"}}}`, ""},
		"a name without an end":         {`{"status":{"allocatable":{"` + strings.Repeat("x", 100_000) + `":"1"}}}`, ""},
		"what Kubernetes does not know": {`{"status":{"unknown":{"cpu":"1e19"}}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for pieces := 1; pieces < 8; pieces++ {
				var meter Meter = &JSON{}
				if strings.HasPrefix(test.text, magic) {
					meter = NewObject()
				}
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

// FuzzJSON decodes what was measured: every quantity in it is within bounds.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{"status":{"allocatable":{"cpu":"1e19"}}}`, `{"status":{"allocatable":{"cpu":1e18},"capacity":{"x":"9Ei"}}}`,
		`{"status":{"\u0061llocatable":{"a\"b":"1"}},"status":{"allocatable": {"cpu" : 11 , "b":"1e5"}}}`, `[{"status":[]}]`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := (&JSON{}).Read([]byte(text)); err != nil {
			return
		}
		node := &corev1.Node{}
		if kjson.UnmarshalCaseSensitivePreserveInts([]byte(text), node) != nil {
			return
		}
		for _, list := range []corev1.ResourceList{node.Status.Allocatable, node.Status.Capacity} {
			for name, q := range list {
				const most = 400 // In bits: no allowed one has more.
				if scale := q.AsDec().Scale(); scale < -18 || scale > 18+40 || q.AsDec().UnscaledBig().BitLen() > most {
					t.Errorf("%s has the scale %d", name, scale)
				}
			}
		}
	})
}
