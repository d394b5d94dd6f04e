package virtualnode

import (
	"testing"
)

// TestMetricsPath: metrics-server finds what the pods of this node use, and follows no
// path that nobody serves.
func TestMetricsPath(t *testing.T) {
	const key = "metrics.k8s.io/resource-metrics-path"
	served := Offer{Kubelet: Endpoint{Address: "10.0.0.1", Port: 10250}}
	node := New(rich().Obj(), served)
	if got := node.Annotations[key]; got != "/nodes/spillway-eu/metrics/resource" {
		t.Errorf("the node says %q", got)
	}
	Apply(node, rich().Obj(), Offer{})
	if got, ok := node.Annotations[key]; ok {
		t.Errorf("without a kubelet API, the node says %q", got)
	}
	Apply(node, rich().Annotation(key, "/elsewhere").Obj(), served)
	if got := node.Annotations[key]; got != "/elsewhere" {
		t.Errorf("the binding has its own, and the node says %q", got)
	}
}
