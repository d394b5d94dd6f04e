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

// asEvents writes the header of a watch.
func asEvents(w http.ResponseWriter) {
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
}

// send sends an event of a watch, and reports whether the client still listens.
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

// object encodes an object of the core API with this content. So nobody needs the memory for the decoded
// object.
func object(kind string, content []byte) []byte {
	identity := append(field(1, []byte("v1")), field(2, []byte(kind))...)
	return append([]byte("k8s\x00"), append(field(1, identity), field(2, content)...)...)
}

// field encodes a field of a Protobuf message.
func field(number int, content []byte) []byte {
	const isBytes, bits = 2, 3
	return append(binary.AppendUvarint([]byte{byte(number<<bits | isBytes)}, uint64(len(content))), content...)
}

// lengthy is the beginning of an object whose content is longer than a list may be.
func lengthy(kind string) []byte {
	identity := append(field(1, []byte("v1")), field(2, []byte(kind))...)
	return slices.Concat([]byte("k8s\x00"), field(1, identity), binary.AppendUvarint([]byte{2<<3 | 2}, 12<<20))
}

// lengthyField is the beginning of a field of nearly the same length. No message has a field with the number
// 15.
func lengthyField(number byte) []byte { return binary.AppendUvarint([]byte{number<<3 | 2}, 11<<20) }
