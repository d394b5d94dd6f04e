package virtualnode

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// unknown changes a node as Kubernetes does if its Lease was not renewed.
func unknown(node *corev1.Node) {
	for i := range node.Status.Conditions {
		c := &node.Status.Conditions[i]
		c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
	}
}

// TestHeartbeat checks that the node of a binding that is paused or being deleted stays as it is, with two
// exceptions. It is Ready while the provider answers, because otherwise Kubernetes would evict its pods. Its
// address is the present manager's, which may be another one.
func TestHeartbeat(t *testing.T) {
	first, later := metav1.NewTime(builder.Epoch), metav1.NewTime(builder.Epoch.Add(time.Hour))
	before := []corev1.Node{*size("a", "1", "1Gi").Label(corev1.LabelArchStable, "arm64").Obj()}
	after := []corev1.Node{*size("b", "2", "2Gi").Label(corev1.LabelArchStable, "amd64").Obj()}
	for name, test := range map[string]struct {
		change func(*corev1.Node)
		offer  Offer
		beats  int    // The number of conditions that are written.
		reason string // The reason of Ready.
	}{
		"nothing is wrong":               {func(*corev1.Node) {}, Offer{Nodes: after}, 0, "ProviderConnected"},
		"Kubernetes has turned it":       {unknown, Offer{Nodes: after}, 4, "ProviderConnected"},
		"one of them alone":              {func(n *corev1.Node) { n.Status.Conditions[2].Status = corev1.ConditionUnknown }, Offer{Nodes: after}, 1, "ProviderConnected"},
		"it was made again":              {func(n *corev1.Node) { n.Status = corev1.NodeStatus{} }, Offer{Nodes: after}, 4, "ProviderConnected"},
		"no node takes pods any more":    {func(*corev1.Node) {}, Offer{}, 0, "ProviderConnected"},
		"none does, and it was turned":   {unknown, Offer{}, 4, v1alpha1.ReasonNoUsableNodes},
		"the nodes cannot be seen":       {unknown, Offer{Unknown: true}, 4, "ProviderConnected"},
		"somebody has changed its label": {func(n *corev1.Node) { n.Labels["region"] = "us" }, Offer{Nodes: after}, 0, "ProviderConnected"},
	} {
		for state, binding := range map[string]*v1alpha1.ClusterBinding{
			"paused":        builder.Binding("eu").Label("region", "us").Taint("x", "y", corev1.TaintEffectNoSchedule).Paused().Obj(),
			"being deleted": builder.Binding("eu").Deleted(0).Obj(),
		} {
			t.Run(state+": "+name, func(t *testing.T) {
				node := New(rich().Obj(), Offer{})
				applyStatus(node, rich().Obj(), Offer{Nodes: before}, first)
				test.change(node)
				was := node.DeepCopy()
				test.offer.Kubelet = Endpoint{Address: "10.0.0.2", Port: 10250}
				apply(node, binding, test.offer)
				applyStatus(node, binding, test.offer, later)

				beats := 0
				for _, c := range node.Status.Conditions {
					if c.LastHeartbeatTime.Equal(&later) {
						beats++
					}
					if (c.Type == corev1.NodeReady) != (c.Status == corev1.ConditionTrue) {
						t.Errorf("%s is %s", c.Type, c.Status)
					}
				}
				if reason := node.Status.Conditions[0].Reason; beats != test.beats || reason != test.reason {
					t.Errorf("%d conditions are written, and Ready says %s; want %d and %s", beats, reason, test.beats, test.reason)
				}
				setAddress(was, test.offer.Kubelet)
				node.Status.Conditions, was.Status.Conditions = nil, nil
				if diff := cmp.Diff(was, node); diff != "" {
					t.Errorf("something else differs (-before +after)\n%s", diff)
				}
			})
		}
	}
}

// TestRemoveAddress checks that a manager that stops does not remove another manager's address.
func TestRemoveAddress(t *testing.T) {
	own, none := Endpoint{Address: "10.0.0.1", Port: 10250}, Endpoint{}
	for name, test := range map[string]struct {
		shown, ends, want Endpoint
		written           bool
	}{
		"its own":               {own, own, none, true},
		"of another":            {Endpoint{Address: "10.0.0.2", Port: 10250}, own, Endpoint{Address: "10.0.0.2", Port: 10250}, false},
		"of another at one IP":  {Endpoint{Address: "10.0.0.1", Port: 10251}, own, Endpoint{Address: "10.0.0.1", Port: 10251}, false},
		"none":                  {none, own, none, false},
		"none, and none serves": {none, none, none, false},
	} {
		got, want := New(rich().Obj(), Offer{}), New(rich().Obj(), Offer{})
		setAddress(got, test.shown)
		setAddress(want, test.want)
		written := removeAddress(got, test.ends)
		if diff := cmp.Diff(want, got); diff != "" || written != test.written {
			t.Errorf("%s: it is written: %t (-want +got)\n%s", name, written, diff)
		}
	}
}

// TestHealthy compares the complete conditions of a node, because Kubernetes evicts pods by them.
func TestHealthy(t *testing.T) {
	first, later := metav1.NewTime(builder.Epoch), metav1.NewTime(builder.Epoch.Add(time.Hour))
	pressure := func(kind corev1.NodeConditionType) corev1.NodeCondition {
		return corev1.NodeCondition{Type: kind, Status: corev1.ConditionFalse, Reason: "VirtualNode", Message: "the provider manages its own nodes",
			LastHeartbeatTime: first, LastTransitionTime: first}
	}
	ready := corev1.NodeCondition{Type: "Ready", Status: corev1.ConditionTrue, Reason: "ProviderConnected", Message: "the provider answers", LastHeartbeatTime: first, LastTransitionTime: first}
	want := []corev1.NodeCondition{ready, pressure("MemoryPressure"), pressure("DiskPressure"), pressure("PIDPressure")}
	node := New(rich().Obj(), Offer{})
	offer := Offer{Nodes: []corev1.Node{*size("a", "1", "1Gi").Obj()}}
	applyStatus(node, rich().Obj(), offer, first)
	if diff := cmp.Diff(want, node.Status.Conditions); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	applyStatus(node, rich().Obj(), offer, later)
	if diff := cmp.Diff(want, node.Status.Conditions); diff != "" {
		t.Errorf("an hour later, nothing has changed (-want +got):\n%s", diff)
	}
	for what, change := range map[string]func(*corev1.NodeCondition){
		"the reason":  func(c *corev1.NodeCondition) { c.Reason = "Other" },
		"the message": func(c *corev1.NodeCondition) { c.Message = "other" },
	} {
		changed := node.DeepCopy()
		change(&changed.Status.Conditions[0])
		applyStatus(changed, rich().Obj(), offer, later)
		corrected := ready
		corrected.LastHeartbeatTime = later // It has been Ready since the same time.
		if diff := cmp.Diff(corrected, changed.Status.Conditions[0]); diff != "" {
			t.Errorf("%s was changed (-want +got):\n%s", what, diff)
		}
	}
}
