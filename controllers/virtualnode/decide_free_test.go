package virtualnode

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func requests(cpu, pods string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse(pods)}
}

// others returns what pods that are not ours request on nodes.
func others(of map[string]corev1.ResourceList) *connection.Foreign {
	used := map[string]spill.Size{}
	for name, requests := range of {
		used[name] = spill.SizeOfList(requests)
	}
	return &connection.Foreign{Used: used}
}

func fourCPU(name string) *builder.NodeBuilder {
	return builder.Node(name).Allocatable(corev1.ResourceCPU, "4").Allocatable(corev1.ResourcePods, "110")
}

func TestAllocatable(t *testing.T) {
	two := []*builder.NodeBuilder{fourCPU("a"), fourCPU("b")}
	limited := func(cpu string) *v1alpha1.ClusterBinding {
		binding := builder.Binding("eu").Obj()
		binding.Spec.VirtualNode.Capacity = map[corev1.ResourceName]intstr.IntOrString{corev1.ResourceCPU: intstr.FromString(cpu)}
		return binding
	}
	type list = map[string]corev1.ResourceList
	for name, test := range map[string]struct {
		binding *v1alpha1.ClusterBinding
		nodes   []*builder.NodeBuilder
		offer   Offer
		shown   corev1.ResourceList
		want    string
	}{
		"ignored":                                     {nodes: two, want: "8 of 8 CPUs, 220 pods"},
		"nothing is there":                            {nodes: two, offer: Offer{Foreign: others(nil)}, want: "8 of 8 CPUs, 220 pods"},
		"it cannot be known":                          {nodes: two, offer: Offer{Foreign: &connection.Foreign{Unknown: "why"}}, want: "8 of 8 CPUs, 220 pods"},
		"not known yet":                               {nodes: two, offer: Offer{Unread: true}, want: "0 of 0 CPUs, 0 pods"},
		"not known any more":                          {nodes: two, offer: Offer{Unread: true}, shown: requests("3", "9"), want: "3 of 8 CPUs, 9 pods"},
		"and a node has gone":                         {nodes: two[:1], offer: Offer{Unread: true}, shown: requests("6", "9"), want: "4 of 4 CPUs, 9 pods"},
		"some":                                        {nodes: two, offer: Offer{Foreign: others(list{"a": requests("1500m", "3")})}, want: "6500m of 8 CPUs, 217 pods"},
		"more than the node has":                      {nodes: two, offer: Offer{Foreign: others(list{"a": requests("9", "3"), "b": requests("1", "1")})}, want: "3 of 8 CPUs, 216 pods"},
		"on a node that is not used":                  {nodes: []*builder.NodeBuilder{fourCPU("a"), fourCPU("b").Cordoned()}, offer: Offer{Foreign: others(list{"b": requests("3", "3")})}, want: "4 of 4 CPUs, 110 pods"},
		"on a node that has gone":                     {nodes: two, offer: Offer{Foreign: others(list{"c": requests("3", "3")})}, want: "8 of 8 CPUs, 220 pods"},
		"a limit, and enough is left":                 {binding: limited("50%"), nodes: two, offer: Offer{Foreign: others(list{"a": requests("2", "2")})}, want: "4 of 4 CPUs, 218 pods"},
		"a limit, and less is left":                   {binding: limited("50%"), nodes: two, offer: Offer{Foreign: others(list{"a": requests("4", "2"), "b": requests("1", "1")})}, want: "3 of 4 CPUs, 217 pods"},
		"an older binding takes some of what is left": {nodes: two, offer: Offer{Older: []*v1alpha1.ClusterBinding{limited("5")}, Foreign: others(list{"a": requests("2", "1")})}, want: "1 of 3 CPUs, 0 pods"},
		"a little more than shown":                    {nodes: two, offer: Offer{Foreign: others(list{"a": requests("300m", "2")})}, shown: requests("8", "219"), want: "8 of 8 CPUs, 219 pods"},
		"a little less than shown":                    {nodes: two, offer: Offer{Foreign: others(nil)}, shown: requests("7700m", "215"), want: "7700m of 8 CPUs, 215 pods"},
		"a little, and it is due":                     {nodes: two, offer: Offer{Exact: true, Foreign: others(list{"a": requests("300m", "2")})}, shown: requests("8", "219"), want: "7700m of 8 CPUs, 218 pods"},
		"much of one resource":                        {nodes: two, offer: Offer{Foreign: others(list{"a": requests("500m", "2")})}, shown: requests("8", "219"), want: "7500m of 8 CPUs, 218 pods"},
		"a little, and nothing is left":               {nodes: two, offer: Offer{Foreign: others(list{"a": requests("4", "2"), "b": requests("4", "2")})}, shown: requests("300m", "216"), want: "0 of 8 CPUs, 216 pods"},
		"a little, and a node has gone":               {nodes: two[:1], offer: Offer{Foreign: others(list{"a": requests("100m", "1")})}, shown: requests("3950m", "110"), want: "3900m of 4 CPUs, 109 pods"},
	} {
		t.Run(name, func(t *testing.T) {
			binding := test.binding
			if binding == nil {
				binding = builder.Binding("eu").Obj()
			}
			node := New(binding, Offer{})
			if node.Status.Allocatable = test.shown; test.shown != nil {
				node.Status.Capacity = requests("8", "220")
			}
			for _, one := range test.nodes {
				test.offer.Nodes = append(test.offer.Nodes, *one.Obj())
			}
			setRoom(node, binding, test.offer)
			has, left := node.Status.Capacity, node.Status.Allocatable
			if got := fmt.Sprintf("%s of %s CPUs, %s pods", left.Cpu(), has.Cpu(), left.Pods()); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
