package virtualnode

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

const gpu corev1.ResourceName = "nvidia.com/gpu"

// TestApportion divides what is left of GPUs and CPUs between groups.
func TestApportion(t *testing.T) {
	for name, test := range map[string]struct {
		resource         corev1.ResourceName
		parts, rest, all string
	}{
		"half of one each":         {gpu, "1 1 1 1", "2", "1 1 0 0"},
		"all":                      {gpu, "1 2 3", "6", "1 2 3"},
		"nothing":                  {gpu, "1 2 3", "0", "0 0 0"},
		"who lost most goes first": {gpu, "1 1 5", "5", "1 1 3"},
		"one that has none":        {gpu, "0 3 3", "3", "0 2 1"},
		"more than there is":       {gpu, "1 2", "9", "1 2"},
		"thousandths of CPUs":      {corev1.ResourceCPU, "1 1 1", "1", "334m 333m 333m"},
		"numbers that overflow":    {corev1.ResourceMemory, "4Ei 3Ei", "6Ei", "3952873730080618203 2964655297560463653"},
	} {
		var parts []corev1.ResourceList
		for _, part := range strings.Fields(test.parts) {
			parts = append(parts, corev1.ResourceList{test.resource: resource.MustParse(part), "other": resource.MustParse("1")})
		}
		var got []string
		for _, result := range apportion(parts, corev1.ResourceList{test.resource: resource.MustParse(test.rest)}) {
			quantity := result[test.resource]
			text := quantity.String()
			if quantity.Value() > 1<<53 {
				text = fmt.Sprint(quantity.Value())
			}
			if got = append(got, text); len(result) != 1 {
				t.Errorf("%s: %v has resources that nothing is left of", name, result)
			}
		}
		if diff := cmp.Diff(test.all, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// TestReserved: nodes that are tainted with the name of a resource show it, and all that they have only to pods that
// request it.
func TestReserved(t *testing.T) {
	size := func(name, zone, gpus string) *builder.NodeBuilder {
		node := builder.Node(name).Allocatable(corev1.ResourceCPU, "8").Allocatable(corev1.ResourcePods, "10").Label(corev1.LabelTopologyZone, zone)
		if gpus != "" {
			node = node.Allocatable(gpu, gpus).Taint(string(gpu), corev1.TaintEffectNoSchedule)
		}
		return node
	}
	plain, one, two := *size("p", "a", "").Obj(), *size("g", "b", "4").Obj(), *size("h", "b", "2").Obj()
	other := *builder.Node("o").Allocatable("amd.com/gpu", "1").Allocatable(corev1.ResourceCPU, "8").Taint("amd.com/gpu", corev1.TaintEffectNoSchedule).Obj()
	cordoned := *size("c", "a", "").Cordoned().Obj()
	listed := func(o *Offer) { o.Tolerable = []string{string(gpu)} }
	for name, test := range map[string]struct {
		nodes  []corev1.Node
		groups []string
		change func(*Offer)
		limit  string // Of GPUs.
		want   string
	}{
		"among others":            {nodes: []corev1.Node{plain, one}, want: "8 CPUs 4 GPUs"},
		"alone":                   {nodes: []corev1.Node{one, two}, want: "16 CPUs 6 GPUs tainted"},
		"others take no pods":     {nodes: []corev1.Node{cordoned, one}, want: "8 CPUs 4 GPUs tainted"},
		"two resources":           {nodes: []corev1.Node{one, other}, want: "0 CPUs 4 GPUs NoUsableNodes"},
		"the limits list it":      {nodes: []corev1.Node{one}, change: listed, want: "8 CPUs 4 GPUs"},
		"in a group of their own": {nodes: []corev1.Node{plain, one, two}, groups: []string{zone}, want: "8 CPUs 0 GPUs, 16 CPUs 6 GPUs tainted"},
		"and half of them":        {nodes: []corev1.Node{plain, one, two}, groups: []string{zone}, limit: "50%", want: "8 CPUs 0 GPUs, 16 CPUs 3 GPUs tainted"},
		"others use some": {nodes: []corev1.Node{one}, change: func(o *Offer) {
			o.Foreign = others(map[string]corev1.ResourceList{"g": {gpu: resource.MustParse("1")}})
		}, want: "8 CPUs 3 GPUs tainted"},
	} {
		t.Run(name, func(t *testing.T) {
			binding := grouped(test.groups...)
			if test.limit != "" {
				binding.Spec.VirtualNode.Capacity = map[corev1.ResourceName]intstr.IntOrString{gpu: intstr.FromString(test.limit)}
			}
			offer := Offer{Nodes: test.nodes}
			if test.change != nil {
				test.change(&offer)
			}
			groups := groupsOf(binding, test.groups, test.nodes, mostGroups).Groups
			offer.Rooms = divide(binding, offer, groups)
			var got []string
			for _, group := range groups {
				one := offer.of(Member{Group: group})
				node := New(binding, one)
				applyStatus(node, binding, one, metav1.NewTime(builder.Epoch))
				gpus := node.Status.Allocatable[gpu]
				text := fmt.Sprintf("%s CPUs %s GPUs", node.Status.Allocatable.Cpu(), gpus.String())
				for _, taint := range node.Spec.Taints {
					if taint.Key == string(gpu) {
						text += " tainted"
					}
				}
				if reason := node.Status.Conditions[0].Reason; reason == v1alpha1.ReasonNoUsableNodes {
					text += " " + reason
				}
				got = append(got, text)
				apply(node, binding, Offer{Unknown: true, Member: one.Member})
				if kept := strings.Contains(text, "tainted"); kept != (len(node.Spec.Taints) == 2) {
					t.Errorf("when nothing is known any more, it has the taints %v", node.Spec.Taints)
				}
			}
			if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// TestEachNodeIsLookedAtOnce: what it takes to show the nodes of a provider does not grow with the number of its groups.
func TestEachNodeIsLookedAtOnce(t *testing.T) {
	const all = 256
	cost := func(groups int) float64 {
		binding, offer := grouped(zone), Offer{}
		used := map[string]corev1.ResourceList{}
		for i := range all {
			name := fmt.Sprint(i)
			offer.Nodes = append(offer.Nodes, *builder.Node(name).Allocatable(corev1.ResourceCPU, "8").Label(corev1.LabelTopologyZone, fmt.Sprint(i%groups)).Obj())
			used[name] = requests("1", "1")
		}
		offer.Foreign, offer.Exact = others(used), true
		grouping := groupsOf(binding, binding.Spec.VirtualNode.GroupBy, offer.Nodes, mostGroups).Groups
		node := &corev1.Node{}
		return testing.AllocsPerRun(5, func() {
			offer.Rooms = divide(binding, offer, grouping)
			for _, group := range grouping {
				setRoom(node, binding, offer.of(Member{Group: group}))
			}
		})
	}
	if few, many := cost(4), cost(64); many > 4*few {
		t.Errorf("%v allocations with 4 groups, %v with 64", few, many)
	}
}
