package virtualnode

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// list returns a list of CPUs, GiB of memory and pods.
func list(cpu, memory, pods string) map[corev1.ResourceName]resource.Quantity {
	return map[corev1.ResourceName]resource.Quantity{"cpu": resource.MustParse(cpu), "memory": resource.MustParse(memory + "Gi"), "pods": resource.MustParse(pods)}
}

// zones returns a binding with a group for each of these zones, which can have so many nodes of two CPUs.
func zones(most map[corev1.ResourceName]resource.Quantity, nodes ...int32) *v1alpha1.ClusterBinding {
	binding := grouped(zone)
	binding.Spec.VirtualNode.Elastic = &v1alpha1.Elastic{Max: most}
	for i, n := range nodes {
		binding.Spec.VirtualNode.Elastic.Groups = append(binding.Spec.VirtualNode.Elastic.Groups, v1alpha1.ElasticGroup{
			Labels: map[string]v1alpha1.LabelValue{zone: v1alpha1.LabelValue(rune('a' + i))}, Node: list("2", "2", "10"), MaxNodes: n,
		})
	}
	return binding
}

// TestResourcesThatNodesDoNotList: GPUs show although no node lists them: those of DRA, which never do, and those of a
// device plugin that has not registered yet.
func TestResourcesThatNodesDoNotList(t *testing.T) {
	const gpu = "example.com/gpu"
	whole := builder.Binding("eu").Obj()
	whole.Spec.VirtualNode.Elastic = &v1alpha1.Elastic{Max: list("20", "64", "100")}
	whole.Spec.VirtualNode.Elastic.Max[gpu] = resource.MustParse("8")
	group := zones(nil, 3)
	group.Spec.VirtualNode.Elastic.Groups[0].Node[gpu] = resource.MustParse("2")
	bare, listing := in("n", "zone=a"), in("m", "zone=a")
	listing.Status.Allocatable[gpu] = resource.MustParse("2")
	for name, test := range map[string]struct {
		binding *v1alpha1.ClusterBinding
		offer   Offer
		want    string
	}{
		"one virtual node":       {whole, Offer{Nodes: []corev1.Node{bare}}, "8"},
		"a group":                {group, Offer{Nodes: []corev1.Node{bare}}, "6"},
		"a group that lists two": {group, Offer{Nodes: []corev1.Node{bare, listing}}, "6"},
	} {
		t.Run(name, func(t *testing.T) {
			offer := test.offer.growing(test.binding)
			g := groupsOf(test.binding, test.binding.Spec.VirtualNode.GroupBy, offer.Nodes)
			for _, m := range decideMembers(members{Binding: test.binding, Grouping: g, Offer: offer, Busy: func(string) bool { return false }}).Keep {
				of := offer.of(m)
				node := New(test.binding, of)
				setRoom(node, test.binding, of)
				if got := node.Status.Allocatable[gpu]; got.String() != test.want {
					t.Errorf("the virtual node shows %s GPUs, want %s", &got, test.want)
				}
			}
		})
	}
}

// TestGrowing: virtual nodes show what there can be, never less than what exists, and never more than others and limits
// leave.
func TestGrowing(t *testing.T) {
	upTo := func(cpu string) *v1alpha1.ClusterBinding {
		binding := builder.Binding("eu").Obj()
		binding.Spec.VirtualNode.Elastic = &v1alpha1.Elastic{Max: list(cpu, "64", "100")}
		return binding
	}
	with := func(binding *v1alpha1.ClusterBinding, cpu string) *v1alpha1.ClusterBinding {
		binding.Spec.VirtualNode.Capacity = map[corev1.ResourceName]intstr.IntOrString{"cpu": intstr.FromString(cpu)}
		return binding
	}
	cordoned := in("x", "zone=a")
	cordoned.Spec.Unschedulable = true
	cpus := map[corev1.ResourceName]resource.Quantity{"cpu": resource.MustParse("10")}
	one, two := []corev1.Node{in("n", "zone=a")}, []corev1.Node{in("n", "zone=a"), in("m", "zone=c")}
	foreign := others(map[string]corev1.ResourceList{"n": requests("1500m", "3")})
	for name, test := range map[string]struct {
		binding *v1alpha1.ClusterBinding
		offer   Offer
		want    []string
		says    string
	}{
		"from nothing":               {upTo("20"), Offer{}, []string{" 20 of 20 CPUs, 100 pods"}, "Elastic: 0 of 20 CPUs exist, no pod waits for more"},
		"some exist":                 {upTo("20"), Offer{Nodes: two}, []string{" 20 of 20 CPUs, 100 pods"}, "Elastic: 4 of 20 CPUs exist, no pod waits for more"},
		"more exist":                 {upTo("3"), Offer{Nodes: two}, []string{" 4 of 4 CPUs, 100 pods"}, "MaxBelowExisting: more exists than spec.virtualNode.elastic says there can be, so the virtual nodes show what exists: max.cpu is 3, and 4 exists; no pod waits for more"},
		"unusable ones do not exist": {upTo("20"), Offer{Nodes: []corev1.Node{cordoned}}, []string{" 20 of 20 CPUs, 100 pods"}, "Elastic: 0 of 20 CPUs exist, no pod waits for more"},
		"others use some":            {upTo("20"), Offer{Nodes: one, Foreign: foreign}, []string{" 18500m of 20 CPUs, 97 pods"}, "Elastic: 2 of 20 CPUs exist, no pod waits for more"},
		"a share":                    {with(upTo("20"), "50%"), Offer{Nodes: one}, []string{" 10 of 10 CPUs, 100 pods"}, "Elastic: 2 of 20 CPUs exist, no pod waits for more"},
		"an older one cannot grow":   {upTo("20"), Offer{Nodes: one, Older: []*v1alpha1.ClusterBinding{builder.Binding("us").Obj()}}, []string{" 18 of 18 CPUs, 90 pods"}, "Elastic: 2 of 20 CPUs exist, no pod waits for more"},
		"an older one can":           {upTo("20"), Offer{Nodes: one, Older: []*v1alpha1.ClusterBinding{with(upTo("20"), "6")}}, []string{" 14 of 14 CPUs, 0 pods"}, "Elastic: 2 of 20 CPUs exist, no pod waits for more"},
		"groups from nothing":        {zones(nil, 3, 1), Offer{}, []string{"a 6 of 6 CPUs, 30 pods", "b 2 of 2 CPUs, 10 pods"}, "Elastic: 0 of 8 CPUs exist, no pod waits for more"},
		"what exists counts":         {zones(nil, 3, 1), Offer{Nodes: two}, []string{"a 6 of 6 CPUs, 30 pods", "b 2 of 2 CPUs, 10 pods", "c 2 of 2 CPUs, 10 pods"}, "Elastic: 4 of 10 CPUs exist, no pod waits for more"},
		"max bounds all groups":      {zones(cpus, 5, 5), Offer{Nodes: two}, []string{"a 4666m of 4666m CPUs, 50 pods", "b 3333m of 3333m CPUs, 50 pods", "c 2 of 2 CPUs, 10 pods"}, "Elastic: 4 of 10 CPUs exist, no pod waits for more"},
		"more nodes than there can":  {zones(nil, 1), Offer{Nodes: []corev1.Node{in("n", "zone=a"), in("m", "zone=a")}}, []string{"a 4 of 4 CPUs, 20 pods"}, "MaxBelowExisting: more exists than spec.virtualNode.elastic says there can be, so the virtual nodes show what exists: groups[0].maxNodes is 1, and 2 exist; no pod waits for more"},
		"others, in a group":         {zones(nil, 2), Offer{Nodes: one, Foreign: foreign}, []string{"a 2500m of 4 CPUs, 17 pods"}, "Elastic: 2 of 4 CPUs exist, no pod waits for more"},
		"a share of groups":          {with(zones(nil, 3, 1), "50%"), Offer{}, []string{"a 3 of 3 CPUs, 30 pods", "b 1 of 1 CPUs, 10 pods"}, "Elastic: 0 of 8 CPUs exist, no pod waits for more"},
	} {
		t.Run(name, func(t *testing.T) {
			offer := test.offer.growing(test.binding)
			g := groupsOf(test.binding, test.binding.Spec.VirtualNode.GroupBy, offer.Nodes)
			var got []string
			for _, m := range decideMembers(members{Binding: test.binding, Grouping: g, Offer: offer, Busy: func(string) bool { return false }}).Keep {
				of := offer.of(m)
				node := New(test.binding, of)
				setRoom(node, test.binding, of)
				got = append(got, fmt.Sprintf("%s %s of %s CPUs, %s pods", node.Labels[zone], node.Status.Allocatable.Cpu(), node.Status.Capacity.Cpu(), node.Status.Allocatable.Pods()))
				if none := of.noneUsable(); none != "" {
					t.Errorf("%s: %s", got, none)
				}
			}
			slices.Sort(got)
			c := elasticCondition(test.binding, offer, waiting{})
			if diff := cmp.Diff(test.want, got) + cmp.Diff(test.says, c.Reason+": "+c.Message); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestWaiting(t *testing.T) {
	pod := func(reason string) corev1.Pod {
		p := corev1.Pod{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: v1alpha1.PodOffloaded, Status: corev1.ConditionFalse, Reason: reason}}}}
		p.Annotations = map[string]string{v1alpha1.AnnotationRemoteName: "web", v1alpha1.AnnotationRemoteNamespace: "team-eu", v1alpha1.AnnotationRemoteUID: "1"}
		return p
	}
	unschedulable, declined := pod(v1alpha1.ReasonUnschedulable), pod(v1alpha1.ReasonNoNewNode)
	for want, pods := range map[string][]corev1.Pod{
		"no pod waits for more": {pod(v1alpha1.ReasonRejected), {}},
		"1 pod waits for more":  {unschedulable},
		"2 pods wait for more, and the autoscaler starts no node for 1 of them": {unschedulable, declined},
	} {
		if got := waitingIn(pods).String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
