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
	if collection(req, prefix) != "" && !isMetrics(req, prefix) && !inPages(req.Context()) {
		return list
	}
	return single
}

// isMetrics reports whether a request is for the usage of pods. Such an answer is for no cache: it is small,
// and soon outdated. If it is too large or late, the connection must not end.
func isMetrics(req *http.Request, prefix string) bool {
	group, _ := target(req, prefix)
	return group == "metrics.k8s.io"
}

// collection returns the resource of a request for a whole collection. It is empty for any other request.
func collection(req *http.Request, prefix string) string {
	if _, path := target(req, prefix); len(path) == 1 {
		return path[0]
	}
	return ""
}

// target is the API group of a request whose path is one of
//
//	/api/v1/[namespaces/<namespace>/]<resource>[/<name>…]
//	/apis/<group>/<version>/[namespaces/<namespace>/]<resource>[/<name>…]
//
// and what begins with the resource. Of any other request, both are empty.
func target(req *http.Request, prefix string) (group string, path []string) {
	path = strings.Split(strings.Trim(strings.TrimPrefix(req.URL.Path, strings.TrimSuffix(prefix, "/")), "/"), "/")
	switch {
	case path[0] == "api" && len(path) > 2:
		path = path[2:]
	case path[0] == "apis" && len(path) > 3:
		group, path = path[1], path[3:]
	default:
		return "", nil
	}
	if path[0] == "namespaces" && len(path) > 2 {
		path = path[2:]
	}
	return group, path
}
