package kubeletapi

import (
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

// AnnotationMetricsPath is the annotation of a Node with the path of its pods' metrics. metrics-server reads
// it since version 0.7.
const AnnotationMetricsPath = "metrics.k8s.io/resource-metrics-path"

// The path is a kubelet's path below a path that names the node, because all virtual nodes have the same
// address.
const (
	nodesPath    = "/nodes/"
	resourcePath = "/metrics/resource"
)

// MetricsPath returns the path of a node's metrics.
func MetricsPath(node string) string { return nodesPath + node + resourcePath }

// ParseMetrics returns the node whose metrics a request asks for. asked is false if the request does not ask
// for metrics.
func ParseMetrics(method string, u *url.URL) (node string, asked bool, refusal *Refusal) {
	if u.Path == resourcePath {
		return "", true, refuse("", http.StatusNotFound, "this address serves many virtual nodes: their metrics are at %s, as set in their annotation %s, which metrics-server supports since 0.7",
			MetricsPath("NAME"), AnnotationMetricsPath)
	}
	node, below := strings.CutPrefix(u.Path, nodesPath)
	node, whole := strings.CutSuffix(node, resourcePath)
	if !below || !whole {
		return "", false, nil
	}
	switch {
	case u.RawPath != "" || u.Host != "" || len(validation.NameIsDNSSubdomain(node, false)) > 0:
		return "", true, refuse("", http.StatusBadRequest, "the path has no valid name of a node: %.80q", node)
	case method != http.MethodGet:
		return "", true, refuse("", http.StatusMethodNotAllowed, "metrics do not support the method %.16q", method)
	}
	return node, true, nil
}
