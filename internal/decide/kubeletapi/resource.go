package kubeletapi

import (
	"net/http"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

// AnnotationMetricsPath of a Node says at which path of its address metrics-server, since
// version 0.7, finds what its pods use.
const AnnotationMetricsPath = "metrics.k8s.io/resource-metrics-path"

// The path is that of a kubelet, below one that names the node: all virtual nodes have the
// same address.
const (
	nodesPath    = "/nodes/"
	resourcePath = "/metrics/resource"
)

// MetricsPath is the path of a node.
func MetricsPath(node string) string { return nodesPath + node + resourcePath }

// ParseMetrics returns the node whose metrics a request asks for. It is false for a request
// that asks for no metrics.
func ParseMetrics(method string, u *url.URL) (node string, asked bool, refusal *Refusal) {
	if u.Path == resourcePath {
		return "", true, refuse("", http.StatusNotFound, "this address is that of many virtual nodes: their metrics are at %s, as their annotation %s says, which metrics-server follows since 0.7",
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
		return "", true, refuse("", http.StatusMethodNotAllowed, "metrics cannot be asked for with the method %.16q", method)
	}
	return node, true, nil
}
