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

// meta holds the fields of an object that the answer to a write contains.
type meta struct {
	name, version string
	// gone is set if the write removed the last finalizer of an object that was being deleted. The answer to
	// such a write has the last version of the object.
	gone bool
}

func metaOf(object metav1.Object) meta {
	return meta{
		name: object.GetName(), version: object.GetResourceVersion(),
		gone: object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) == 0,
	}
}

// receivedMeta reads the meta from the answer, and leaves the answer readable for the client. The meta is
// empty if the answer is not an object, such as the Status that may answer a deletion.
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

// decode decodes Kubernetes' protocol buffers, the format of the built-in kinds.
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
