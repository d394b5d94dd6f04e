package transport

import (
	"net/http"
	"strconv"
	"strings"
)

// requestKind determines the limits of a request.
type requestKind int

const (
	// single is a request about one object, or none.
	single requestKind = iota
	// list is a request about a whole collection.
	list
	// watch is a request whose answer has no end.
	watch
)

// kindOf returns the kind of a request. prefix is the path of the server itself. Unknown
// requests, such as discovery, are single.
func kindOf(req *http.Request, prefix string) requestKind {
	if watching, err := strconv.ParseBool(req.URL.Query().Get("watch")); err == nil && watching && req.Method == http.MethodGet {
		return watch
	}
	if req.Method != http.MethodGet && req.Method != http.MethodDelete {
		return single
	}
	if collection(req, prefix) != "" && !isMetrics(req, prefix) {
		return list
	}
	return single
}

// isMetrics reports whether a request is for what pods use. Such an answer is no cache's: it
// is small, and soon old. One that is too large, or late, must not end the connection.
func isMetrics(req *http.Request, prefix string) bool {
	return strings.HasPrefix(req.URL.Path, strings.TrimSuffix(prefix, "/")+"/apis/metrics.k8s.io/")
}

// collection is the resource of a request whose path is one of
//
//	/api/v1/[namespaces/<namespace>/]<resource>
//	/apis/<group>/<version>/[namespaces/<namespace>/]<resource>
//
// and empty for any other.
func collection(req *http.Request, prefix string) string {
	path := strings.TrimPrefix(req.URL.Path, strings.TrimSuffix(prefix, "/"))
	segments := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case segments[0] == "api" && len(segments) > 2:
		segments = segments[2:]
	case segments[0] == "apis" && len(segments) > 3:
		segments = segments[3:]
	default:
		return ""
	}
	if segments[0] == "namespaces" && len(segments) > 2 {
		segments = segments[2:]
	}
	if len(segments) != 1 {
		return ""
	}
	return segments[0]
}
