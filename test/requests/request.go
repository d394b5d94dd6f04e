package requests

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The verbs, as Kubernetes calls them.
const (
	Get              = "get"
	List             = "list"
	Watch            = "watch"
	Create           = "create"
	Update           = "update"
	Patch            = "patch"
	Delete           = "delete"
	DeleteCollection = "deletecollection"
)

// How a client asks who it is, and a server who somebody is, and what they may do.
const (
	selfReviews   = "selfsubjectreviews"
	tokenReviews  = "tokenreviews"
	accessReviews = "subjectaccessreviews"
)

// request is what an HTTP request asks of an API server.
type request struct {
	verb, resource, subresource string
	namespace, name             string
	selector                    string
	// initial tells that a watch begins with all there is.
	initial, dryRun bool
	// remembers tells that a ClusterBinding remembers the Lease of its provider,
	// and that nothing else of it changes.
	remembers bool
}

// parse reads it off the method and the path. For a path that is not that of a
// resource, such as /version, the resource is the path.
func parse(r *http.Request) request {
	query := r.URL.Query()
	parsed := request{dryRun: query.Has("dryRun")}
	parts, ok := resourcePath(r.URL)
	if !ok {
		parsed.verb, parsed.resource = Get, r.URL.Path
		return parsed
	}
	// namespaces/NAMESPACE/RESOURCE…, but for the parts of a Namespace itself.
	if parts[0] == "namespaces" && len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
		parsed.namespace, parts = parts[1], parts[2:]
	}
	parsed.resource = parts[0]
	if len(parts) > 1 {
		parsed.name = parts[1]
	}
	if len(parts) > 2 {
		parsed.subresource = strings.Join(parts[2:], "/")
	}
	parsed.verb = verb(r.Method, parsed.name != "", query)
	parsed.remembers = parsed.verb == Patch && parsed.resource == "clusterbindings" && parsed.subresource == "status" && onlyHolder(sentBody(r))
	if parsed.resource == selfReviews {
		parsed.verb = Get // It is posted, and changes nothing.
	}
	if parsed.verb == List || parsed.verb == Watch {
		parsed.selector = selectorOf(r)
		parsed.initial = parsed.verb == Watch && query.Get("sendInitialEvents") == "true"
	}
	return parsed
}

// resourcePath is what follows /api/VERSION/ or /apis/GROUP/VERSION/.
func resourcePath(u *url.URL) ([]string, bool) {
	parts := strings.Split(strings.Trim(u.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		return parts[2:], true
	case parts[0] == "apis" && len(parts) > 3:
		return parts[3:], true
	default:
		return nil, false
	}
}

func verb(method string, named bool, query url.Values) string {
	switch method {
	case http.MethodPost:
		return Create
	case http.MethodPut:
		return Update
	case http.MethodPatch:
		return Patch
	case http.MethodDelete:
		if named {
			return Delete
		}
		return DeleteCollection
	}
	switch watch := query.Get("watch"); {
	case watch == "true" || watch == "1":
		return Watch
	case named:
		return Get
	default:
		return List
	}
}

func (r request) writes() bool { return writes(r.verb) }

func writes(verb string) bool { return verb != Get && verb != List && verb != Watch }

func (r request) class() Class {
	if r.remembers {
		return Leases
	}
	return ClassOf(r.verb, r.resource, r.name)
}

// onlyHolder reports whether a merge patch changes nothing of a status but the holder.
func onlyHolder(patch []byte) bool {
	var body struct {
		Status map[string]json.RawMessage `json:"status"`
	}
	if err := json.Unmarshal(patch, &body); err != nil || len(body.Status) != 1 {
		return false
	}
	_, ok := body.Status["holder"]
	return ok
}

// ClassOf is the class of a request; for a path that is not that of a resource,
// the resource is the path.
func ClassOf(verb, resource, name string) Class {
	switch {
	case strings.HasPrefix(resource, "/"):
		return Discovery
	case resource == "leases":
		return Leases
	case resource == "events":
		return Events
	case verb == Get && resource == "namespaces" && name == metav1.NamespaceSystem, resource == selfReviews, resource == tokenReviews, resource == accessReviews:
		return Probes
	default:
		return Work
	}
}

// sentVersion is the resourceVersion that a write is locked to, or "".
func sentVersion(r *http.Request) string { return sentMeta(r).version }
