package virtualnode

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
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
	notReadySince := func(name string, age time.Duration) corev1.Node {
		node := in(name, "zone=a")
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(node.CreationTimestamp.Add(age))}}
		return node
	}
	gpus := in("g", "zone=g")
	gpus.Status.Allocatable["example.com/gpu"] = resource.MustParse("1")
	gpus.Spec.Taints = []corev1.Taint{{Key: "example.com/gpu", Effect: corev1.TaintEffectNoSchedule}}
	starting, gone := notReadySince("s", 0), notReadySince("g", time.Hour)
	cpus := map[corev1.ResourceName]resource.Quantity{"cpu": resource.MustParse("10")}
	one, two := []corev1.Node{in("n", "zone=a")}, []corev1.Node{in("n", "zone=a"), in("m", "zone=c")}
	foreign := others(map[string]corev1.ResourceList{"n": requests("1500m", "3")})
	for name, test := range map[string]struct {
		binding *v1alpha1.ClusterBinding
		offer   Offer
		want    []string
		says    string
	}{
		"from nothing":              {upTo("20"), Offer{}, []string{" 20 of 20 CPUs, 100 pods"}, "Elastic: 0 of 20 CPUs exist, no pod waits for more"},
		"some exist":                {upTo("20"), Offer{Nodes: two}, []string{" 20 of 20 CPUs, 100 pods"}, "Elastic: 4 of 20 CPUs exist, no pod waits for more"},
		"more exist":                {upTo("3"), Offer{Nodes: two}, []string{" 4 of 4 CPUs, 100 pods"}, "MaxBelowExisting: more exists than spec.virtualNode.elastic says there can be, so the virtual nodes show what exists: max.cpu is 3, and 4 exists; no pod waits for more"},
		"one is starting":           {upTo("20"), Offer{Nodes: []corev1.Node{starting}}, []string{" 20 of 20 CPUs, 100 pods"}, "Elastic: 0 of 20 CPUs exist, no pod waits for more"},
		"one is cordoned":           {upTo("20"), Offer{Nodes: []corev1.Node{in("n", "zone=a"), cordoned}}, []string{" 18 of 18 CPUs, 90 pods"}, "Elastic: 2 of 18 CPUs exist, no pod waits for more"},
		"one is not ready any more": {upTo("20"), Offer{Nodes: []corev1.Node{in("n", "zone=a"), gone}}, []string{" 18 of 18 CPUs, 90 pods"}, "Elastic: 2 of 18 CPUs exist, no pod waits for more"},
		"a broken one of a group":   {zones(nil, 3), Offer{Nodes: []corev1.Node{in("n", "zone=a"), cordoned}}, []string{"a 4 of 4 CPUs, 20 pods"}, "Elastic: 2 of 4 CPUs exist, no pod waits for more"},
		"only GPU nodes exist":      {upTo("20"), Offer{Nodes: []corev1.Node{gpus}}, []string{" 18 of 18 CPUs, 90 pods"}, "Elastic: 2 of 20 CPUs exist, no pod waits for more"},
		"GPU nodes among others":    {upTo("20"), Offer{Nodes: append(two, gpus)}, []string{" 18 of 18 CPUs, 90 pods"}, "Elastic: 6 of 20 CPUs exist, no pod waits for more"},
		"others use some":           {upTo("20"), Offer{Nodes: one, Foreign: foreign}, []string{" 18500m of 20 CPUs, 97 pods"}, "Elastic: 2 of 20 CPUs exist, no pod waits for more"},
		"a share":                   {with(upTo("20"), "50%"), Offer{Nodes: one}, []string{" 10 of 10 CPUs, 100 pods"}, "Elastic: 2 of 20 CPUs exist, no pod waits for more"},
		"an older one cannot grow":  {upTo("20"), Offer{Nodes: one, Older: []*v1alpha1.ClusterBinding{builder.Binding("us").Obj()}}, []string{" 18 of 18 CPUs, 90 pods"}, "Elastic: 2 of 20 CPUs exist, no pod waits for more"},
		"an older one can":          {upTo("20"), Offer{Nodes: one, Older: []*v1alpha1.ClusterBinding{with(upTo("20"), "6")}}, []string{" 14 of 14 CPUs, 0 pods"}, "Elastic: 2 of 20 CPUs exist, no pod waits for more"},
		"groups from nothing":       {zones(nil, 3, 1), Offer{}, []string{"a 6 of 6 CPUs, 30 pods", "b 2 of 2 CPUs, 10 pods"}, "Elastic: 0 of 8 CPUs exist, no pod waits for more"},
		"what exists counts":        {zones(nil, 3, 1), Offer{Nodes: two}, []string{"a 6 of 6 CPUs, 30 pods", "b 2 of 2 CPUs, 10 pods", "c 2 of 2 CPUs, 10 pods"}, "Elastic: 4 of 10 CPUs exist, no pod waits for more"},
		"max bounds all groups":     {zones(cpus, 5, 5), Offer{Nodes: two}, []string{"a 4667m of 4667m CPUs, 50 pods", "b 3333m of 3333m CPUs, 50 pods", "c 2 of 2 CPUs, 10 pods"}, "Elastic: 4 of 10 CPUs exist, no pod waits for more"},
		"more nodes than there can": {zones(nil, 1), Offer{Nodes: []corev1.Node{in("n", "zone=a"), in("m", "zone=a")}}, []string{"a 4 of 4 CPUs, 20 pods"}, "MaxBelowExisting: more exists than spec.virtualNode.elastic says there can be, so the virtual nodes show what exists: groups[0].maxNodes is 1, and 2 exist; no pod waits for more"},
		"others, in a group":        {zones(nil, 2), Offer{Nodes: one, Foreign: foreign}, []string{"a 2500m of 4 CPUs, 17 pods"}, "Elastic: 2 of 4 CPUs exist, no pod waits for more"},
		"a share of groups":         {with(zones(nil, 3, 1), "50%"), Offer{}, []string{"a 3 of 3 CPUs, 30 pods", "b 1 of 1 CPUs, 10 pods"}, "Elastic: 0 of 8 CPUs exist, no pod waits for more"},
	} {
		t.Run(name, func(t *testing.T) {
			offer := test.offer.growing(test.binding)
			g := groupsOf(test.binding, test.binding.Spec.VirtualNode.GroupBy, offer.Nodes, mostGroups)
			offer.Rooms = divide(test.binding, offer, g.Groups)
			var got []string
			for _, m := range decideMembers(members{Binding: test.binding, Grouping: g, Offer: offer, Busy: func(string) bool { return false }}).Keep {
				of := offer.of(m)
				node := New(test.binding, of)
				setRoom(node, test.binding, of)
				if len(node.Spec.Taints) != 1 {
					t.Errorf("an ordinary pod is kept off: %v", node.Spec.Taints)
				}
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

// TestShare: what groups can grow together is divided in proportion, and what the pods of one request already stays with it.
func TestShare(t *testing.T) {
	most := map[corev1.ResourceName]resource.Quantity{"cpu": resource.MustParse("10")}
	nodes := []corev1.Node{in("n", "zone=a"), in("m", "zone=a")}
	for name, test := range map[string]struct {
		a, b  string // What is requested.
		nodes []corev1.Node
		want  string
	}{
		"no pods":                               {"0", "0", nil, "5 5"},
		"less than the shares":                  {"5", "1", nil, "5 5"},
		"more than one share":                   {"0", "7", nil, "3 7"},
		"both, and one more than its share":     {"1", "6", nil, "4 6"},
		"more than there can be":                {"20", "0", nil, "10 0"},
		"more than there can be, of both":       {"9", "9", nil, "5 5"},
		"nodes of one exist":                    {"0", "0", nodes, "2250m 3750m"},
		"its pods are on them":                  {"4", "0", nodes, "2250m 3750m"},
		"the other's wait for all that is left": {"4", "6", nodes, "0 6"},
		"pods of both wait":                     {"5", "4500m", nodes, "1500m 4500m"},
	} {
		t.Run(name, func(t *testing.T) {
			binding := zones(most, 5, 5)
			var virtual []*corev1.Node
			var pods []corev1.Pod
			for _, group := range []struct{ name, cpu string }{{"a", test.a}, {"b", test.b}} {
				node := builder.Node("spillway-eu." + group.name).Obj()
				node.Annotations = map[string]string{v1alpha1.AnnotationGroup: field.Group{zone: &group.name}.String()}
				virtual = append(virtual, node)
				pod := corev1.Pod{Spec: corev1.PodSpec{NodeName: node.Name}}
				pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(group.cpu)}}}}
				pods = append(pods, pod)
			}
			growths := Offer{Nodes: test.nodes, Requested: requestedOn(virtual, pods)}.growing(binding).Growths
			a, b := growths[field.Group{zone: ptr.To("a")}.String()], growths[field.Group{zone: ptr.To("b")}.String()]
			if got := fmt.Sprint(a.Cpu(), " ", b.Cpu()); got != test.want || a.Pods().Value()+b.Pods().Value() != int64(100-10*len(test.nodes)) {
				t.Errorf("%s CPUs, %s and %s pods, want %s", got, a.Pods(), b.Pods(), test.want)
			}
		})
	}
}

// TestUnshared: while it is not known what the pods of each group request, a virtual node shows less if there cannot be as much,
// and never more. A new one shows nothing.
func TestUnshared(t *testing.T) {
	most := func(cpu string) map[corev1.ResourceName]resource.Quantity {
		return map[corev1.ResourceName]resource.Quantity{"cpu": resource.MustParse(cpu)}
	}
	one := []corev1.Node{in("n", "zone=a")}
	broken := in("x", "zone=b")
	broken.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.NewTime(broken.CreationTimestamp.Add(time.Hour))}}
	half := zones(most("10"), 5, 5)
	half.Spec.VirtualNode.Capacity = map[corev1.ResourceName]intstr.IntOrString{"cpu": intstr.FromString("50%")}
	for name, test := range map[string]struct {
		binding *v1alpha1.ClusterBinding
		offer   Offer
		a, b    string // The CPUs that are shown.
		want    string
	}{
		"as before, not in proportion": {zones(most("10"), 5, 5), Offer{}, "3", "7", "3/3 7/7"},
		"a node has started":           {zones(most("10"), 5, 5), Offer{Nodes: one}, "3", "7", "3/3 7/7"},
		"a limit of the binding":       {half, Offer{}, "1", "4", "1/1 4/4"},
		"there can be less":            {zones(most("6"), 5, 5), Offer{}, "3", "7", "3/3 6/6"},
		"a group has fewer nodes":      {zones(most("10"), 1, 5), Offer{}, "3", "7", "2/2 7/7"},
		"there can be more":            {zones(most("20"), 9, 9), Offer{}, "3", "7", "3/3 7/7"},
		"nothing can grow":             {zones(most("10"), 5, 5), Offer{Nodes: []corev1.Node{broken}}, "3", "7", "0/0 0/0"},
		"other pods":                   {zones(most("10"), 1, 5), Offer{Nodes: one, Foreign: others(map[string]corev1.ResourceList{"n": requests("1500m", "3")}), Exact: true}, "2", "8", "500m/2 8/8"},
		"a new node":                   {zones(most("10"), 5, 5), Offer{}, "", "7", "0/0 7/7"},
	} {
		t.Run(name, func(t *testing.T) {
			test.offer.Unshared = true
			offer := test.offer.growing(test.binding)
			g := groupsOf(test.binding, test.binding.Spec.VirtualNode.GroupBy, offer.Nodes, mostGroups)
			offer.Rooms = divide(test.binding, offer, g.Groups)
			var got []string
			for _, group := range g.Groups {
				of := offer.of(Member{Group: group})
				node := New(test.binding, of)
				if cpu := map[string]string{"a": test.a, "b": test.b}[node.Labels[zone]]; cpu != "" {
					node.Status.Capacity = corev1.ResourceList{"cpu": resource.MustParse(cpu)}
					node.Status.Allocatable = node.Status.Capacity.DeepCopy()
				}
				setRoom(node, test.binding, of)
				got = append(got, fmt.Sprint(node.Labels[zone], node.Status.Allocatable.Cpu(), "/", node.Status.Capacity.Cpu()))
				if lags(node, test.binding, of) {
					t.Error("it asks to come back, and is enqueued anyway")
				}
			}
			slices.Sort(got)
			if all := strings.NewReplacer("a", "", "b", "").Replace(strings.Join(got, " ")); all != test.want {
				t.Errorf("got %s, want %s", all, test.want)
			}
		})
	}
}

// TestTaintedFromZero: a group of nodes with GPUs shows their taint once it has had one, and before if somebody has added it.
func TestTaintedFromZero(t *testing.T) {
	binding, gpus := zones(nil, 3), in("g", "zone=a")
	gpus.Status.Allocatable[gpu] = resource.MustParse("1")
	gpus.Spec.Taints = []corev1.Taint{{Key: string(gpu), Effect: corev1.TaintEffectNoSchedule}}
	offer := func(nodes ...corev1.Node) Offer {
		offer := Offer{Nodes: nodes}.growing(binding)
		return offer.of(decideMembers(members{Binding: binding, Grouping: groupsOf(binding, binding.Spec.VirtualNode.GroupBy, nodes, mostGroups), Offer: offer, Busy: func(string) bool { return false }}).Keep[0])
	}
	for _, by := range []string{"nobody", "somebody"} {
		node := New(binding, offer())
		if by == "somebody" {
			node.Spec.Taints = append(node.Spec.Taints, gpus.Spec.Taints...)
		}
		want := []bool{by == "somebody", true, true}
		for i, offer := range []Offer{offer(), offer(gpus), offer()} {
			apply(node, binding, offer)
			if tainted := len(node.Spec.Taints) == 2; tainted != want[i] {
				t.Errorf("tainted by %s, step %d: %v", by, i, node.Spec.Taints)
			}
		}
	}
}

// TestNothingUsable: a provider whose nodes are all broken shows none that it may start, and says so.
func TestNothingUsable(t *testing.T) {
	binding, gone := zones(nil, 3), in("x", "zone=a")
	gone.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionUnknown, LastTransitionTime: metav1.NewTime(gone.CreationTimestamp.Add(time.Hour))}}
	offer := Offer{Nodes: []corev1.Node{gone}}.growing(binding)
	if none := offer.noneUsable(); len(offer.Growth) > 0 || none != "no node of the provider is usable: 1 not ready" {
		t.Errorf("it can grow by %v, and says %q", offer.Growth, none)
	}
}

// TestWhole: only CPUs are divided.
func TestWhole(t *testing.T) {
	for quantity, want := range map[string]string{"100.5": "100", "500m": "0", "7": "7", "1Gi": "1Gi"} {
		if got := whole(corev1.ResourcePods, resource.MustParse(quantity)); got.String() != want {
			t.Errorf("%s pods are %s, want %s", quantity, &got, want)
		}
	}
	if got := whole(corev1.ResourceCPU, resource.MustParse("1500m")); got.String() != "1500m" {
		t.Errorf("1500m CPUs are %s", &got)
	}
}

// TestResourcesThatNodesDoNotList: GPUs show although no node lists them: those of DRA, which never do, and those of a
// device plugin that has not registered yet.
func TestResourcesThatNodesDoNotList(t *testing.T) {
	const gpu = "example.com/gpu"
	group := zones(nil, 3)
	group.Spec.VirtualNode.Elastic.Groups[0].Node[gpu] = resource.MustParse("2")
	bare, listing := in("n", "zone=a"), in("m", "zone=a")
	listing.Status.Allocatable[gpu] = resource.MustParse("2")
	for name, nodes := range map[string][]corev1.Node{"none is listed": {bare}, "two are": {bare, listing}} {
		all := total(Offer{Nodes: nodes}.growing(group))
		if got := all[gpu]; got.String() != "6" {
			t.Errorf("%s: %s GPUs, want 6", name, &got)
		}
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
