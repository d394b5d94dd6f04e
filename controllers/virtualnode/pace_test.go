package virtualnode

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

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

// TestForeignPodsCauseFewWrites: 1,000 small pods start and end within ten minutes, and each change is seen. The node is
// written once a minute. When much or all is taken, it is written at once.
func TestForeignPodsCauseFewWrites(t *testing.T) {
	const interval, minutes, publish = 2 * time.Second, 10, 5 * time.Second
	clock, binding, writes := clocktesting.NewFakeClock(builder.Epoch), builder.Binding("eu").Obj(), 0
	nodes := []corev1.Node{*builder.Node("a").Allocatable(corev1.ResourceCPU, "100").Allocatable(corev1.ResourcePods, "1000").Obj()}
	node := New(binding, Offer{Nodes: nodes})
	r := &Reconciler{
		Client: fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithStatusSubresource(node).WithObjects(node).WithInterceptorFuncs(interceptor.Funcs{
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
				writes++
				return c.SubResource(sub).Patch(ctx, obj, patch, opts...)
			},
		}).Build(),
		Clock: clock, Pace: throttle.New(interval, interval, clock),
		Shrinking: throttle.NewAllowance[string](32, interval, clock), Small: throttle.NewAllowance[string](1, time.Minute, clock),
	}
	shows := func(cpu, pods int) (left string) {
		t.Helper()
		offer := Offer{Nodes: nodes, Exact: r.Small.Wait(binding.Name) == 0, Foreign: others(map[string]corev1.ResourceList{"a": requests(fmt.Sprintf("%dm", cpu), fmt.Sprint(pods))})}
		if _, err := r.createOrUpdate(t.Context(), binding, offer, true); err != nil {
			t.Fatal(err)
		}
		if err := r.Client.Get(t.Context(), client.ObjectKeyFromObject(node), node); err != nil {
			t.Fatal(err)
		}
		return node.Status.Allocatable.Cpu().String()
	}
	for n := range minutes * int(time.Minute/publish) { // Each time, eight have started, and as many ended.
		shows(10_000+100*(n%8), 100+n%8)
		clock.Step(publish)
	}
	if writes < minutes || writes > minutes+1 {
		t.Errorf("%d writes in %d minutes", writes, minutes)
	}
	before := writes
	for _, step := range []struct {
		cpu  int
		want string
	}{{50_000, "50"}, {50_100, "50"}, {100_000, "0"}, {99_900, "0"}} {
		if got := shows(step.cpu, 100); got != step.want {
			t.Errorf("with %dm taken, the node shows %s, want %s", step.cpu, got, step.want)
		}
	}
	if writes != before+2 {
		t.Errorf("%d writes, want 2", writes-before)
	}
	clock.Step(interval)
	if got := shows(99_900, 100); got != "100m" {
		t.Errorf("what is left again is shown as %s", got)
	}
}
