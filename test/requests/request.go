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

// The resources by which a client asks who it is, and a server asks who somebody is and what they may do.
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
	// initial says that a watch begins with all objects that exist.
	initial, dryRun bool
	// remembers says that the request only records the Lease of the provider in a ClusterBinding, and changes
	// nothing else of it.
	remembers bool
}

// parse reads the request from the method and the path. If the path does not belong to a resource, as with
// /version, resource is the path.
func parse(r *http.Request) request {
	query := r.URL.Query()
	parsed := request{dryRun: query.Has("dryRun")}
	parts, ok := resourcePath(r.URL)
	if !ok {
		parsed.verb, parsed.resource = Get, r.URL.Path
		return parsed
	}
	// namespaces/NAMESPACE/RESOURCE…, except for the subresources of a Namespace itself.
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
		parsed.verb = Get // The client posts it, but it changes nothing.
	}
	if parsed.verb == List || parsed.verb == Watch {
		parsed.selector = selectorOf(r)
		parsed.initial = parsed.verb == Watch && query.Get("sendInitialEvents") == "true"
	}
	return parsed
}

// resourcePath returns the part of the path after /api/VERSION/ or /apis/GROUP/VERSION/.
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

// onlyHolder reports whether a merge patch changes only the holder in a status.
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

// ClassOf returns the class of a request. If the path does not belong to a resource, resource is the path.
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

// sentVersion returns the resourceVersion to which a write is locked, or "".
func sentVersion(r *http.Request) string { return sentMeta(r).version }
