package requests

import (
	"io"
	"net/http"
	"strings"
)

// Target is what a request is about, as it is known before it is answered.
type Target struct {
	Verb, Resource, Subresource string
	// Group is the API group of the resource; "" is the core.
	Group string
	// Namespace and Name are of the object. The name of one that is created is
	// read from the body; it is empty if the API server is to make one up.
	Namespace, Name string
	Class           Class
	// DryRun tells that nothing is to be changed.
	DryRun bool
	// Initial tells that a watch begins with all there is.
	Initial bool
}

// Parse reads a request, whose body stays as it is.
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

// group is that of /apis/GROUP/VERSION/….
func group(r *http.Request) string {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] != "apis" || len(parts) < 2 {
		return ""
	}
	return parts[1]
}

// sentMeta is what the body of a request tells of its object.
func sentMeta(r *http.Request) meta {
	raw := sentBody(r)
	if raw == nil {
		return meta{}
	}
	if r.Method == http.MethodPatch || strings.Contains(r.Header.Get("Content-Type"), "json") {
		return decodeJSON(raw) // Of a JSON patch, which is a list of operations, nothing.
	}
	return decode(raw)
}

// sentBody is the body of a request, which stays as it is; nil if there is none.
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
