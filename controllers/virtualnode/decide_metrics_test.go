package virtualnode

import (
	"testing"
)

// TestMetricsPath checks that metrics-server finds the metrics of this node's pods, and that a node without a
// kubelet API has no path.
func TestMetricsPath(t *testing.T) {
	const key = "metrics.k8s.io/resource-metrics-path"
	served := Offer{Kubelet: Endpoint{Address: "10.0.0.1", Port: 10250}}
	node := New(rich().Obj(), served)
	if got := node.Annotations[key]; got != "/nodes/spillway-eu/metrics/resource" {
		t.Errorf("the node says %q", got)
	}
	apply(node, rich().Obj(), Offer{})
	if got, ok := node.Annotations[key]; ok {
		t.Errorf("without a kubelet API, the node says %q", got)
	}
	apply(node, rich().Annotation(key, "/elsewhere").Obj(), served)
	if got := node.Annotations[key]; got != "/elsewhere" {
		t.Errorf("the binding has its own, and the node says %q", got)
	}
}
