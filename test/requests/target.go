package requests

import (
	"io"
	"net/http"
	"strings"
)

// Target is what a request is about, as far as this is known before the answer.
type Target struct {
	Verb, Resource, Subresource string
	// Group is the API group of the resource; "" is the core group.
	Group string
	// Namespace and Name identify the object. For an object that is being created, Name comes from the body,
	// and is empty if the API server has to generate it.
	Namespace, Name string
	Class           Class
	// DryRun says that the request changes nothing.
	DryRun bool
	// Initial says that a watch begins with all objects that exist.
	Initial bool
}

// Parse reads a request, and leaves its body unchanged.
func Parse(r *http.Request) Target {
	parsed := parse(r)
	if parsed.verb == Create && parsed.name == "" {
		parsed.name = sentMeta(r).name
	}
	return Target{
		Verb: parsed.verb, Resource: parsed.resource, Subresource: parsed.subresource, Group: group(r),
		Namespace: parsed.namespace, Name: parsed.name, Class: parsed.class(), DryRun: parsed.dryRun, Initial: parsed.initial,
	}
}

// Writes reports whether the request may change something.
func (t Target) Writes() bool { return writes(t.Verb) && !t.DryRun }

// group returns the GROUP of a path /apis/GROUP/VERSION/….
func group(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] != "apis" || len(parts) < 2 {
		return ""
	}
	return parts[1]
}

// sentMeta returns the meta of the object in the body of a request.
func sentMeta(r *http.Request) meta {
	raw := sentBody(r)
	if raw == nil {
		return meta{}
	}
	if r.Method == http.MethodPatch || strings.Contains(r.Header.Get("Content-Type"), "json") {
		return decodeJSON(raw) // A JSON patch is a list of operations, and gives nothing.
	}
	return decode(raw)
}

// sentBody returns the body of a request, or nil if there is none. The request keeps its body.
func sentBody(r *http.Request) []byte {
	if r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	raw, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	return raw
}
