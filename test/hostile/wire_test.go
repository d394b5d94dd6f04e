package hostile

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
)

// serializer writes objects as an API server does.
var serializer = protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)

// asEvents says that a watch follows.
func asEvents(w http.ResponseWriter) {
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
}

// send sends an event of a watch, and reports whether somebody still listens.
func send(w http.ResponseWriter, event string, object runtime.Object) bool {
	var raw bytes.Buffer
	if err := serializer.Encode(object, &raw); err != nil {
		return false
	}
	return sendRaw(w, event, raw.Bytes())
}

func sendRaw(w http.ResponseWriter, event string, raw []byte) bool {
	body, err := (&metav1.WatchEvent{Type: event, Object: runtime.RawExtension{Raw: raw}}).Marshal()
	if err != nil {
		return false
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)) //nolint:gosec // No event is that large.
	if flusher, ok := w.(http.Flusher); ok && err == nil {
		flusher.Flush()
	}
	return err == nil
}

// object is one of the core API with that content, which nobody has to hold in
// memory as what it decodes to.
func object(kind string, content []byte) []byte {
	identity := append(field(1, []byte("v1")), field(2, []byte(kind))...)
	return append([]byte("k8s\x00"), append(field(1, identity), field(2, content)...)...)
}

// field is one of a message of Protobuf.
func field(number int, content []byte) []byte {
	const isBytes, bits = 2, 3
	return append(binary.AppendUvarint([]byte{byte(number<<bits | isBytes)}, uint64(len(content))), content...)
}

// lengthy begins an object like object, with content that is longer than a list may be.
func lengthy(kind string) []byte {
	identity := append(field(1, []byte("v1")), field(2, []byte(kind))...)
	return slices.Concat([]byte("k8s\x00"), field(1, identity), binary.AppendUvarint([]byte{2<<3 | 2}, 12<<20))
}

// lengthyField begins a field of nearly that length. Nobody knows the number 15.
func lengthyField(number byte) []byte { return binary.AppendUvarint([]byte{number<<3 | 2}, 11<<20) }
