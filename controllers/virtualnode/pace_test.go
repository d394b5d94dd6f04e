package virtualnode

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/spillway-io/spillway/internal/retry/throttle"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// A provider may change what its nodes say as often as it likes: labels and taints are
// paced as the status is, and both together are one write.
func TestPaced(t *testing.T) {
	clock, binding := clocktesting.NewFakeClock(builder.Epoch), builder.Binding("eu").Obj()
	in := func(size string) Offer {
		return Offer{Nodes: []corev1.Node{*builder.Node("a").Label(corev1.LabelInstanceTypeStable, size).Obj()}}
	}
	node := New(binding, in("a"))
	r := &Reconciler{
		Client: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithStatusSubresource(node).WithObjects(node).Build(),
		Clock:  clock, Pace: throttle.New(time.Second, time.Minute, clock),
	}
	for _, step := range []struct {
		size string
		want time.Duration
	}{{"a", time.Second}, {"a", 0}, {"b", time.Second}} {
		clock.Step(time.Hour)
		if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(node), node); err != nil {
			t.Fatal(err)
		}
		if err := r.update(t.Context(), binding, node, in(step.size)); err != nil {
			t.Fatal(err)
		}
		if got := r.Pace.Wait(binding.Name); got != step.want {
			t.Errorf("size %s: the next write waits for %s, want %s", step.size, got, step.want)
		}
	}
}

// TestUrgent: a few writes go at once because the provider offers less, and so does that
// which leaves nothing.
func TestUrgent(t *testing.T) {
	clock, binding := clocktesting.NewFakeClock(builder.Epoch), builder.Binding("eu").Obj()
	offering := func(pods string) Offer {
		return Offer{Nodes: []corev1.Node{*builder.Node("a").Allocatable(corev1.ResourcePods, pods).Obj()}}
	}
	r := &Reconciler{Clock: clock, Shrinking: throttle.NewAllowance[string](2, time.Second, clock)}
	node := New(binding, offering("110"))
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
	for i, step := range []struct {
		pods string
		want bool
	}{{"110", false}, {"220", false}, {"100", true}, {"90", true}, {"80", false}, {"0", true}, {"0", true}, {"80", false}} {
		if got := r.urgent(node, binding, offering(step.pods)); got != step.want {
			t.Errorf("step %d, %s pods: %v", i, step.pods, got)
		}
	}
	none := New(binding, offering("0"))
	none.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0"), corev1.ResourceCPU: resource.MustParse("9")}
	if r.urgent(none, binding, offering("0")) {
		t.Error("a node that takes no pods is written at once whenever it offers less of something else")
	}
	clock.Step(time.Second)
	if !r.urgent(node, binding, offering("80")) {
		t.Error("one has come back")
	}
}
