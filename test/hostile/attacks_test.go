package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// attacks are the attacks of the hostile provider. Each has the reason and a part of the message that the
// condition Connected of its ClusterBinding then shows.
var attacks = []struct {
	name string
	attack
	reason, message string
}{
	{
		"a watch that brings more and more objects", onWatch("configmaps", moreAndMore),
		v1alpha1.ReasonTooLarge, "of memory, mostly of kind ConfigMap",
	},
	{
		"a watch whose beginning has no end", onWatch("configmaps", everTheSame),
		v1alpha1.ReasonUnreachable, "in time",
	},
	{
		"a list without an end", onList("configmaps", endlessItems),
		v1alpha1.ReasonTooLarge, "a list of configmaps is larger than",
	},
	{
		"pages without an end", onList("configmaps", endlessPages),
		v1alpha1.ReasonTooLarge, "a list of configmaps does not end",
	},
	{
		"a list that unpacks a thousand times larger", onList("configmaps", zipped(append(lengthy("ConfigMapList"), lengthyField(15)...))),
		v1alpha1.ReasonTooLarge, "a list of configmaps is larger than",
	},
	{
		"an event that unpacks a thousand times larger", onWatch("configmaps", zipped([]byte{0x7F, 0xFF, 0xFF, 0xFF})),
		v1alpha1.ReasonTooLarge, "an event of the watch of configmaps is larger than",
	},
	{
		"a list in JSON", onList("configmaps", inJSON(`{"kind":"ConfigMapList","apiVersion":"v1","items":[{}]}`)),
		v1alpha1.ReasonUnreachable, "the provider answers in JSON",
	},
	{
		"a watch in JSON", onWatch("nodes", inJSON(`{"type":"ADDED","object":{"kind":"Node","apiVersion":"v1","status":{"allocatable":{"cpu":"1e10000000"}}}}`)),
		v1alpha1.ReasonUnreachable, "the provider answers in JSON",
	},
	{
		"errors that are nodes with a quantity that takes seconds", onAll(fierceError),
		v1alpha1.ReasonUnreachable, "the answer does not come from a Kubernetes API",
	},
	{
		"an event that decodes to gigabytes", onWatch("pods", emptyContainers),
		v1alpha1.ReasonTooLarge, "an event of the watch of pods takes more than 64 MiB of memory",
	},
	{
		"a list that decodes to gigabytes", onList("pods", emptyPods),
		v1alpha1.ReasonTooLarge, "a list of pods takes more than",
	},
	{
		"a node with a quantity that takes seconds", onWatch("nodes", hugeQuantity),
		v1alpha1.ReasonTooLarge, "an event of the watch of nodes has a quantity in allocatable of more than 40 characters",
	},
	{
		"a list of nodes with quantities that take gigabytes", onList("nodes", hugeQuantities),
		v1alpha1.ReasonTooLarge, "a list of nodes has a quantity in allocatable of more than 40 characters",
	},
	{
		"watches that end as soon as they begin", onWatch("configmaps", one),
		v1alpha1.ReasonUnreachable, "the provider ends lists and watches as soon as they begin",
	},
	{
		"errors with messages of megabytes", onAll(longError),
		v1alpha1.ReasonUnreachable, "the provider answered 500 Internal Server Error",
	},
	{
		"answers that never come", onAll(never),
		v1alpha1.ReasonUnreachable, "in time",
	},
	{
		"watches that never say anything", onWatch("pods", never),
		v1alpha1.ReasonUnreachable, "in time",
	},
}

// onAll answers every request.
func onAll(answer http.HandlerFunc) attack {
	return func(w http.ResponseWriter, r *http.Request) bool {
		answer(w, r)
		return true
	}
}

// onWatch answers the watches of a resource.
func onWatch(resource string, answer http.HandlerFunc) attack {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !isOf(r, resource) || !isWatch(r) {
			return false
		}
		answer(w, r)
		return true
	}
}

// onList answers the lists of a resource. It refuses the watches that a client would use instead.
func onList(resource string, answer http.HandlerFunc) attack {
	return func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case !isOf(r, resource):
			return false
		case isWatch(r):
			http.Error(w, "no watch here", http.StatusBadRequest)
		default:
			answer(w, r)
		}
		return true
	}
}

func isOf(r *http.Request, resource string) bool {
	return r.Method == http.MethodGet && r.URL.Path == "/api/v1/"+resource
}

func isWatch(r *http.Request) bool { return r.URL.Query().Get("watch") == "true" }

// moreAndMore is a watch that begins with objects of a megabyte each. The megabyte is in an annotation,
// because the cache does not keep the content of a copy.
func moreAndMore(w http.ResponseWriter, _ *http.Request) {
	content := strings.Repeat("x", 1<<20)
	asEvents(w)
	for i := 0; ; i++ {
		more := configMap(fmt.Sprintf("more-%d", i), "")
		more.Annotations = map[string]string{"example.com/more": content}
		if !send(w, "ADDED", more) {
			return
		}
	}
}

// everTheSame is a watch that begins with the same object again and again.
func everTheSame(w http.ResponseWriter, _ *http.Request) {
	asEvents(w)
	for send(w, "ADDED", configMap("same", "")) {
	}
}

// one is a watch that brings one object and ends.
func one(w http.ResponseWriter, _ *http.Request) {
	asEvents(w)
	send(w, "ADDED", configMap("one", ""))
}

func configMap(name, content string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: "1", ResourceVersion: "1"}, Data: map[string]string{"x": content},
	}
}

// emptyContainers is a watch with a pod that has two million empty containers, in 4 MiB.
func emptyContainers(w http.ResponseWriter, _ *http.Request) {
	asEvents(w)
	sendRaw(w, "ADDED", object("Pod", field(2, bytes.Repeat(field(2, nil), 2_000_000))))
}

// emptyPods is a list of four million empty pods, in 8 MiB.
func emptyPods(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	_, _ = w.Write(object("PodList", bytes.Repeat(field(2, nil), 4_000_000)))
}

// hugeQuantity is a watch with a node whose number of CPUs has ten million digits.
func hugeQuantity(w http.ResponseWriter, _ *http.Request) {
	cpu := append(field(1, []byte("cpu")), field(2, field(1, []byte("11111111111111111111e10000000")))...)
	asEvents(w)
	sendRaw(w, "ADDED", object("Node", field(3, field(2, cpu))))
}

// hugeQuantities is a list of nodes with numbers of a hundred thousand digits.
func hugeQuantities(w http.ResponseWriter, _ *http.Request) {
	var resources []byte
	for i := range 20_000 {
		cpu := append(field(1, fmt.Appendf(nil, "a/%d", i)), field(2, field(1, []byte("11111111111111111111e100000")))...)
		resources = append(resources, field(2, cpu)...)
	}
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	_, _ = w.Write(object("NodeList", field(2, field(3, resources))))
}

func endlessItems(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	entry := append(field(1, []byte("x")), field(2, bytes.Repeat([]byte("y"), 1<<16))...)
	_, err := w.Write(lengthy("ConfigMapList"))
	for item := field(2, field(2, entry)); err == nil; {
		_, err = w.Write(item)
	}
}

func endlessPages(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
	_, _ = w.Write(object("ConfigMapList", field(1, append(field(2, []byte("1")), field(3, []byte("more"))...))))
}

// inJSON answers in JSON, whatever format the client asks for.
func inJSON(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, text)
	}
}

// zipped is a compressed answer that begins with begin and goes on with zeros without an end.
func zipped(begin []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		w.Header().Set("Content-Encoding", "gzip")
		packed := gzip.NewWriter(w)
		_, err := packed.Write(begin)
		for zeros := make([]byte, 1<<20); err == nil; {
			_, err = packed.Write(zeros)
		}
	}
}

// fierceError is an error answer whose body a client would decode as a node.
func fierceError(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = io.WriteString(w, `{"kind":"Node","apiVersion":"v1","status":{"allocatable":{"cpu":"11111111111111111111e10000000"}}}`)
}

func longError(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":500,"reason":"InternalError","message":"%s"}`,
		strings.Repeat(`\u001b[31m x`, 600_000))
}

// never does not answer, and waits until the client has gone.
func never(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
