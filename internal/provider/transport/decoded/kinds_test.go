package decoded

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// TestEachKindCanBeMeasured fills every field of every kind that a client may decode: the
// encoded object can be measured, and takes at least its content.
func TestEachKindCanBeMeasured(t *testing.T) {
	measured := 0
	for gvk, kind := range kinds {
		object, ok := reflect.New(kind).Interface().(kruntime.Object)
		if _, proto := object.(interface{ Marshal() ([]byte, error) }); !ok || !proto || gvk.Version == kruntime.APIVersionInternal || gvk.Kind == "WatchEvent" { // It is no answer.
			continue
		}
		text := strings.Repeat("x", 1000)
		texts := fill(reflect.ValueOf(object).Elem(), text, 2, 0)
		object.GetObjectKind().SetGroupVersionKind(gvk)
		var raw bytes.Buffer
		if err := serializer.Encode(object, &raw); err != nil {
			t.Fatalf("%s: %v", gvk, err)
		}
		said, err := NewObject().Read(raw.Bytes())
		if err != nil {
			t.Errorf("%s: %v", gvk, err)
			continue
		}
		if want := int64(texts * len(text)); said < want || said > 10*int64(raw.Len()) {
			t.Errorf("%s, with %d bytes of text, is said to take %d of %d bytes", gvk, want, said, raw.Len())
		}
		measured++
	}
	if measured < 300 {
		t.Errorf("there are %d kinds", measured)
	}
}

// fill sets every part of a value, and returns in how many places it has put the text.
// Each list has that many elements.
func fill(v reflect.Value, text string, each, depth int) (texts int) {
	const deepest = 12
	switch v.Addr().Interface().(type) {
	case *time.Time, *metav1.FieldsV1, *kruntime.RawExtension, *metav1.TypeMeta:
		return 0
	case *intstr.IntOrString:
		v.Set(reflect.ValueOf(intstr.FromString(text)))
		return 1
	case *resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse(calm)))
		return 0
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		return 1
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(-1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		if depth < deepest {
			v.Set(reflect.New(v.Type().Elem()))
			return fill(v.Elem(), text, each, depth+1)
		}
	case reflect.Slice:
		if isBytes(v.Type()) {
			v.SetBytes([]byte(text))
			return 1
		}
		if depth < deepest {
			v.Set(reflect.MakeSlice(v.Type(), each, each))
			for i := range each {
				texts += fill(v.Index(i), text, each, depth+1)
			}
		}
	case reflect.Map:
		if depth < deepest {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			texts = fill(key, text, each, depth+1) + fill(value, text, each, depth+1)
			v.Set(reflect.MakeMap(v.Type()))
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && field.Tag.Get("protobuf") != "-" {
				texts += fill(v.Field(i), text, each, depth+1)
			}
		}
	}
	return texts
}
