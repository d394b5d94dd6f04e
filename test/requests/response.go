package requests

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// meta is what the answer to a write tells of the object.
type meta struct {
	name, version string
	// gone is set if the write took away the last finalizer of an object that
	// was to be deleted: it is answered with the last version that there was.
	gone bool
}

func metaOf(object metav1.Object) meta {
	return meta{
		name: object.GetName(), version: object.GetResourceVersion(),
		gone: object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0,
	}
}

// receivedMeta reads it, and puts the answer back for whom it is meant. It is
// empty if the answer is no object: a deletion may be answered by a Status.
func receivedMeta(response *http.Response) (meta, error) {
	raw, err := io.ReadAll(response.Body)
	closeErr := response.Body.Close()
	if err == nil {
		err = closeErr
	}
	if err != nil {
		return meta{}, fmt.Errorf("reading an answer: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(raw))
	if !strings.Contains(response.Header.Get("Content-Type"), "json") {
		return decode(raw), nil
	}
	return decodeJSON(raw), nil
}

func decodeJSON(raw []byte) meta {
	var object metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &object); err != nil || object.Kind == "Status" {
		return meta{}
	}
	return metaOf(&object)
}

// decode reads Kubernetes' protocol buffers, in which the built-in kinds come.
func decode(raw []byte) meta {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if err != nil {
		return meta{}
	}
	accessor, err := apimeta.Accessor(object)
	if err != nil {
		return meta{}
	}
	return metaOf(accessor)
}
