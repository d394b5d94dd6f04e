package oracle

import (
	"encoding/json"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/requests"
)

// Ask is a request of the manager that changes something.
type Ask struct {
	Cluster, Verb, Resource, Subresource, Namespace, Name string
	// Body is the content of the request: an object, a patch or the options of a deletion.
	Body map[string]any
}

// decoder decodes what the client library sends, in JSON or protobuf.
var decoder = serializer.NewCodecFactory(manager.Scheme()).UniversalDeserializer()

// parseAsk parses a request. It returns false if the request changes no object, or only one that changes
// periodically.
func parseAsk(cluster string, r *http.Request, body []byte) (Ask, bool) {
	target := requests.Parse(r)
	ask := Ask{
		Cluster: cluster, Verb: target.Verb, Resource: target.Resource, Subresource: target.Subresource,
		Namespace: target.Namespace, Name: target.Name, Body: parseBody(body),
	}
	if ask.Name == "" && ask.Verb == requests.Create {
		ask.Name = ask.text("metadata", "name")
	}
	return ask, target.Writes() && target.Class == requests.Work
}

func parseBody(body []byte) map[string]any {
	var fields map[string]any
	if json.Unmarshal(body, &fields) == nil {
		return fields
	}
	obj, _, err := decoder.Decode(body, nil, nil)
	if err != nil {
		return nil
	}
	fields, err = runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil
	}
	return fields
}

// text returns a string of the body, or "".
func (a Ask) text(path ...string) string {
	value, _, _ := unstructured.NestedString(a.Body, path...)
	return value
}

// deletes reports whether the request deletes an object.
func (a Ask) deletes() bool { return a.Verb == requests.Delete && a.Subresource == "" }

// creates reports whether the request creates an object of that resource.
func (a Ask) creates(resource string) bool {
	return a.Verb == requests.Create && a.Resource == resource && a.Subresource == ""
}

// letsGo reports whether the request deletes a pod without a grace period.
func (a Ask) letsGo() bool {
	if !a.deletes() || a.Resource != "pods" {
		return false
	}
	switch grace := a.Body["gracePeriodSeconds"].(type) {
	case int64:
		return grace == 0
	case float64:
		return grace == 0
	default:
		return false
	}
}

// ends reports whether the request sets a terminal phase in a pod's status.
func (a Ask) ends() bool {
	phase := a.text("status", "phase")
	return a.Verb == requests.Patch && a.Resource == "pods" && (phase == "Succeeded" || phase == "Failed")
}

// drops reports whether the request is a patch that removes a finalizer with this prefix. A merge patch sends
// the whole list, so finalizer is then "". A strategic patch names the finalizer that it removes.
func (a Ask) drops(beginning string) (finalizer string, drops bool) {
	metadata, ok := a.Body["metadata"].(map[string]any)
	if !ok || a.Verb != requests.Patch {
		return "", false
	}
	for _, gone := range texts(metadata["$deleteFromPrimitiveList/finalizers"]) {
		if strings.HasPrefix(gone, beginning) {
			return gone, true
		}
	}
	left, sent := metadata["finalizers"]
	if !sent || metadata["$setElementOrder/finalizers"] != nil {
		return "", false
	}
	for _, finalizer := range texts(left) {
		if strings.HasPrefix(finalizer, beginning) {
			return "", false
		}
	}
	return "", true
}

func texts(list any) []string {
	items, ok := list.([]any)
	if !ok {
		return nil
	}
	var all []string
	for _, item := range items {
		if text, ok := item.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// answered returns the UID of the object in the answer to a deletion or a creation.
func answered(body []byte) types.UID {
	var answer struct {
		Kind     string            `json:"kind"`
		Metadata metav1.ObjectMeta `json:"metadata"`
		Details  struct {
			UID types.UID `json:"uid"`
		} `json:"details"`
	}
	if json.Unmarshal(body, &answer) == nil {
		if answer.Kind == "Status" {
			return answer.Details.UID
		}
		return answer.Metadata.UID
	}
	obj, _, err := decoder.Decode(body, nil, nil)
	if err != nil {
		return ""
	}
	if status, ok := obj.(*metav1.Status); ok {
		if status.Details == nil {
			return ""
		}
		return status.Details.UID
	}
	metadata, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return metadata.GetUID()
}
