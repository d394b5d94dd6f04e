package decoded

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// objects are ordinary ones, and ones from somebody who means harm.
func objects() map[string]kruntime.Object {
	metadata := metav1.ObjectMeta{Namespace: "team", Name: "web", UID: "1", Labels: map[string]string{}, OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet"}}}
	for i := range 50 {
		metadata.Labels[fmt.Sprintf("label-%d", i)] = strings.Repeat("v", 30)
	}
	container := corev1.Container{Name: "app", Image: "registry.example/app:1", Resources: corev1.ResourceRequirements{
		Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
	}}
	for i := range 40 {
		container.Env = append(container.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_%d", i), Value: strings.Repeat("x", 80)})
	}
	pod := corev1.Pod{ObjectMeta: metadata, Spec: corev1.PodSpec{Containers: []corev1.Container{container, container}}}
	pods := corev1.PodList{}
	for range 200 {
		pods.Items = append(pods.Items, pod)
	}
	return map[string]kruntime.Object{
		"a pod":            &pod,
		"a list of pods":   &pods,
		"a secret":         &corev1.Secret{ObjectMeta: metadata, Data: map[string][]byte{"key": make([]byte, 500_000)}},
		"empty containers": &corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 100_000)}},
		"empty pods":       &corev1.PodList{Items: make([]corev1.Pod, 50_000)},
		"empty owners":     &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: make([]metav1.OwnerReference, 200_000)}},
		"empty addresses":  &corev1.Node{Status: corev1.NodeStatus{Addresses: make([]corev1.NodeAddress, 200_000)}},
		"empty words":      &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Args: make([]string, 200_000)}}}},
		"causes":           &metav1.Status{Details: &metav1.StatusDetails{Causes: make([]metav1.StatusCause, 200_000)}},
	}
}

// encode returns an object as an API server sends it.
func encode(t testing.TB, object kruntime.Object) []byte {
	t.Helper()
	kinds, _, err := scheme.Scheme.ObjectKinds(object)
	if err != nil {
		t.Fatal(err)
	}
	object.GetObjectKind().SetGroupVersionKind(kinds[0])
	var raw bytes.Buffer
	if err := serializer.Encode(object, &raw); err != nil {
		t.Fatal(err)
	}
	return raw.Bytes()
}

var serializer = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// measure reads in pieces of several lengths.
func measure(t testing.TB, meter Meter, raw []byte) int64 {
	t.Helper()
	var took int64
	for pieces := rand.New(rand.NewPCG(1, 2)); len(raw) > 0; {
		n := min(1+pieces.IntN(5000), len(raw))
		grew, err := meter.Read(raw[:n])
		if err != nil {
			t.Fatalf("%d bytes before the end: %v", len(raw), err)
		}
		took += grew
		raw = raw[n:]
	}
	return took
}

// TestObjectsAndEvents compares the measured memory of an answer with what decoding
// takes. The measure may be larger, but never much smaller.
func TestObjectsAndEvents(t *testing.T) {
	for name, object := range objects() {
		t.Run(name, func(t *testing.T) {
			raw := encode(t, object)
			said := measure(t, NewObject(), raw)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			if _, _, err := serializer.Decode(raw, nil, nil); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			took := int64(after.TotalAlloc - before.TotalAlloc)
			t.Logf("%d bytes are said to take %d, and take %d", len(raw), said, took)
			if said < took*3/10 || said > took*3 {
				t.Errorf("%d bytes are said to take %d, and take %d", len(raw), said, took)
			}
			body, err := (&metav1.WatchEvent{Type: "ADDED", Object: kruntime.RawExtension{Raw: raw}}).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if of := measure(t, NewEvent(int64(len(body))), body) - said; of < 0 || of > int64(2*len(body)) {
				t.Errorf("as an event it is said to take %d more", of)
			}
		})
	}
}

// TestWhatIsNoAnswer has bytes that no API server sends, some of which would be measured
// as another kind than they are decoded as.
func TestWhatIsNoAnswer(t *testing.T) {
	message := func(parts ...string) string { return strings.Join(parts, "") }
	bytesField := func(number byte, content string) string {
		return string([]byte{number<<3 | 2, byte(len(content))}) + content
	}
	identity := bytesField(1, bytesField(1, "v1")+bytesField(2, "Pod"))
	for name, raw := range map[string]string{
		"no magic":                 "k8t\x00",
		"nothing that says what":   message(magic, bytesField(2, "")),
		"a kind that nobody knows": message(magic, bytesField(1, bytesField(1, "v1")+bytesField(2, "Hole")), bytesField(2, "")),
		"another kind afterwards":  message(magic, identity, bytesField(2, ""), identity),
		"content twice":            message(magic, identity, bytesField(2, ""), bytesField(2, "")),
		"a group":                  message(magic, "\x0b", identity),
		"a group in the content":   message(magic, identity, bytesField(2, "\x0b")),
		"a number without an end":  message(magic, strings.Repeat("\xff", 11)),
		"longer than it may be":    message(magic, identity, bytesField(2, "\x0a\x20")),
		"less than nothing":        message(magic, identity, bytesField(2, "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")),
		"no field":                 message(magic, "\x00\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := NewObject().Read([]byte(raw)); err == nil {
				t.Error("it is measured")
			}
		})
	}
	if _, err := NewObject().Read([]byte(message(magic, identity, bytesField(2, "")))); err != nil {
		t.Errorf("a pod: %v", err)
	}
}

func TestJSON(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		least int64
		most  int64
	}{
		"a pod of few fields": {`{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a"}]}}`, 2048, 4096},
		"text":                {`{"a":"` + strings.Repeat("[{,", 1000) + `\""}`, 3000, 3500},
		"empty containers":    {`{"spec":{"containers":[{},{},{},{}]}}`, 8192, 16384},
		"nothing":             {`[null,null,null]`, 6144, 8192},
	} {
		t.Run(name, func(t *testing.T) {
			if took := measure(t, &JSON{}, []byte(test.text)); took < test.least || took > test.most {
				t.Errorf("it is said to take %d, want from %d to %d", took, test.least, test.most)
			}
		})
	}
	if took := measure(t, &JSON{Routes: true}, []byte(`[null,null,null]`)); took < 3*perRoute || took > 4*perRoute {
		t.Errorf("three routes are said to take %d", took)
	}
	if _, err := (&JSON{}).Read([]byte(strings.Repeat("[", deepest+1))); err == nil {
		t.Error("depth has no bound")
	}
}

// TestKindsInJSON: whatever a decoder takes for the kind of a message with a Go type is found.
func TestKindsInJSON(t *testing.T) {
	for name, test := range map[string]struct {
		text           string
		event, refused bool
	}{
		"a status":                   {`{"kind":"Status","details":{"kind":"nodes"}}`, false, false},
		"a custom resource":          {`{"kind":"HTTPRoute","spec":{"kind":"Node"},"metadata":{"ownerReferences":[{"kind":"Node"}]}}`, false, false},
		"no kind":                    {`{"status":{},"x":"Node"}`, false, false},
		"text with an escape":        {`{"message":"\"kind\":\"Node\"","details":{"k\u0069nd":"Node"}}`, false, false},
		"a node":                     {`{"status":{"x":[{}]}, "kind" : "Node"}`, false, true},
		"a list of nodes":            {`{"kind":"NodeList"}`, false, true},
		"a node after a status":      {`{"kind":"Status","kind":"Node"}`, false, true},
		"in large letters":           {`{"KIND":"Node"}`, false, true},
		"in letters that look alike": {"{\"\u212Aind\":\"Node\"}", false, true},
		"with an escape":             {`{"k\u0069nd":"Node"}`, false, true},
		"a kind with an escape":      {`{"kind":"N\u006fde"}`, false, true},
		"after another message":      {"{\"kind\":\"Status\"}\n{\"kind\":\"Node\"}", false, true},
		"of an event":                {`{"type":"ADDED","object":{"kind":"Node"}}`, true, true},
		"of a custom event":          {`{"type":"ADDED","object":{"kind":"HTTPRoute","spec":{"kind":"Node"}}}`, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			meter := JSON{Event: test.event}
			var err error
			for _, b := range []byte(test.text) {
				if _, err = meter.Read([]byte{b}); err != nil {
					break
				}
			}
			if (err != nil) != test.refused {
				t.Errorf("%v, want it refused: %t", err, test.refused)
			}
		})
	}
}

// FuzzJSON decodes what was measured, for a client that asked for something else: it is no
// kind with a Go type.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`{"kind":"Node","apiVersion":"v1"}`, `{"apiVersion":"v1","k\u0069nd":"Node"}`, "{\"\u212AIND\":\"Node\",\"apiVersion\":\"v1\"}", `{"kind":"Status","apiVersion":"v1"}`,
	} {
		f.Add(text)
	}
	decoder := scheme.Codecs.UniversalDeserializer()
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := (&JSON{}).Read([]byte(text)); err != nil || !json.Valid([]byte(text)) {
			return
		}
		if object, _, err := decoder.Decode([]byte(text), nil, nil); err == nil {
			if _, ok := object.(*metav1.Status); !ok {
				t.Errorf("it is decoded as %T", object)
			}
		}
	})
}

// FuzzProtobuf decodes what was measured: it never takes much more.
func FuzzProtobuf(f *testing.F) {
	for _, object := range objects() {
		if raw := encode(f, object); len(raw) < 10_000 {
			f.Add(raw)
		}
	}
	for _, quantity := range []string{"1", "1e18", "1e19", "11111111111111111111e10000000"} {
		f.Add([]byte(allocatable(quantity)))
	}
	f.Add([]byte(magic + "\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x10\x12\x0e" + strings.Repeat("\x12\x00", 7)))
	f.Fuzz(func(t *testing.T, raw []byte) {
		said, err := NewObject().Read(raw)
		if err != nil {
			return
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, _ = serializer.Decode(raw, nil, nil)
		runtime.ReadMemStats(&after)
		const besides = 1 << 20 // For the decoder itself, and everything else.
		if took := int64(after.TotalAlloc - before.TotalAlloc); took > 4*said+besides {
			t.Errorf("%d bytes are said to take %d, and take %d", len(raw), said, took)
		}
	})
}

func BenchmarkMeasure(b *testing.B) {
	raw := encode(b, objects()["a pod"])
	b.Run("measured", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			_, _ = NewObject().Read(raw)
		}
	})
	b.Run("decoded", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			_, _, _ = serializer.Decode(raw, nil, nil)
		}
	})
}

// TestPartsOfRoutes: no element of a list in a route, and no route, takes more than is said.
func TestPartsOfRoutes(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var look func(reflect.Type)
	look = func(kind reflect.Type) {
		if seen[kind] {
			return
		}
		seen[kind] = true
		switch kind.Kind() {
		case reflect.Slice:
			if size := kind.Elem().Size(); size > perRoute {
				t.Errorf("a %s takes %d bytes", kind.Elem(), size)
			}
			look(kind.Elem())
		case reflect.Pointer:
			look(kind.Elem())
		case reflect.Struct:
			for field := range kind.Fields() {
				look(field.Type)
			}
		}
	}
	look(reflect.TypeFor[gatewayv1.HTTPRouteList]())
	look(reflect.TypeFor[gatewayv1.GRPCRouteList]())
}
