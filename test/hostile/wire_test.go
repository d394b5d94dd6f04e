package hostile

import (
	"bytes"
	"encoding/binary"
	"net/http"

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
