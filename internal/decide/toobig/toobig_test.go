package toobig

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func node(name, cpu, memory, usedCPU string) Node {
	used := spill.SizeOfList(corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(usedCPU), corev1.ResourcePods: resource.MustParse("3")})
	return Node{Node: builder.Node(name).Allocatable(corev1.ResourceCPU, cpu).Allocatable(corev1.ResourceMemory, memory).Allocatable(corev1.ResourcePods, "110").Obj(), Used: used}
}

func (n Node) with(change func(*corev1.Node)) Node {
	change(n.Node)
	return n
}

func TestWhy(t *testing.T) {
	three := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3"), corev1.ResourceMemory: resource.MustParse("2Gi")}
	cordoned := func(n *corev1.Node) { n.Spec.Unschedulable = true }
	tainted := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	}
	for name, test := range map[string]struct {
		nodes []Node
		pod   func(*corev1.Pod)
		want  string
		ever  bool
	}{
		"no nodes":                     {},
		"a node has room":              {nodes: []Node{node("a", "4", "8Gi", "2"), node("b", "4", "8Gi", "1")}},
		"two have it together":         {nodes: []Node{node("a", "4", "8Gi", "2"), node("b", "4", "8Gi", "1500m")}, want: "it requests cpu 3, and the largest free node has cpu 2500m"},
		"all together have too little": {nodes: []Node{node("a", "4", "8Gi", "3"), node("b", "4", "8Gi", "2500m")}},
		"every node is smaller":        {nodes: []Node{node("a", "2", "1Gi", "1"), node("b", "1", "8Gi", "1")}, want: "it requests cpu 3, and the largest node has cpu 2", ever: true},
		"each has too little of one":   {nodes: []Node{node("a", "2", "8Gi", "1"), node("b", "4", "1Gi", "1")}, want: "it requests cpu 3, memory 2Gi, pods 1, and no node has all of that, although others have each", ever: true},
		"nothing of it":                {nodes: []Node{node("a", "4", "0", "1")}, want: "it requests memory 2Gi, and the largest node has none of it", ever: true},
		"the one with room is closed":  {nodes: []Node{node("a", "4", "8Gi", "1").with(cordoned), node("b", "2", "8Gi", "1")}, want: "it requests cpu 3, and the largest node has cpu 2", ever: true},
		"the one with room is tainted": {nodes: []Node{node("a", "4", "8Gi", "1").with(tainted), node("b", "2", "8Gi", "1")}, want: "it requests cpu 3, and the largest node has cpu 2", ever: true},
		"the taint says what the node does not": {nodes: []Node{node("a", "4", "8Gi", "1").with(func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}}
		})}},
		"it tolerates the taint": {nodes: []Node{node("a", "4", "8Gi", "1").with(tainted), node("b", "2", "8Gi", "1")},
			pod: func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Value: "yes"}} }},
		"it selects another": {nodes: []Node{node("a", "4", "8Gi", "1"), node("b", "2", "8Gi", "1").with(func(n *corev1.Node) { n.Labels = map[string]string{"disk": "ssd"} })},
			pod: func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} }, want: "it requests cpu 3, and the largest node has cpu 2", ever: true},
	} {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: three}}}}}
			if test.pod != nil {
				test.pod(pod)
			}
			if got, ever := Why(pod, test.nodes); got != test.want || ever != test.ever {
				t.Errorf("got %q, %v, want %q, %v", got, ever, test.want, test.ever)
			}
		})
	}
}

// TestNewNode: what a pod requires of a label that nobody knows of a new node does not rule that node out.
func TestNewNode(t *testing.T) {
	is := func(key string, operator corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorRequirement {
		return corev1.NodeSelectorRequirement{Key: key, Operator: operator, Values: values}
	}
	oneOf := func(terms ...[]corev1.NodeSelectorRequirement) corev1.PodSpec {
		required := &corev1.NodeSelector{}
		for _, term := range terms {
			required.NodeSelectorTerms = append(required.NodeSelectorTerms, corev1.NodeSelectorTerm{MatchExpressions: term})
		}
		return corev1.PodSpec{Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}}
	}
	all := func(one ...corev1.NodeSelectorRequirement) []corev1.NodeSelectorRequirement { return one }
	const arch, tooBig = corev1.LabelArchStable, "it requests cpu 3, and the largest node has cpu 2"
	in, lacks := corev1.NodeSelectorOpIn, corev1.NodeSelectorOpDoesNotExist
	for name, test := range map[string]struct {
		requires corev1.PodSpec
		want     string
	}{
		"nothing":                                 {corev1.PodSpec{}, ""},
		"its label":                               {corev1.PodSpec{NodeSelector: map[string]string{"pool": "large"}}, ""},
		"an unknown label":                        {corev1.PodSpec{NodeSelector: map[string]string{"pool": "large", arch: "amd64", corev1.LabelOSStable: "linux"}}, ""},
		"that of another group":                   {corev1.PodSpec{NodeSelector: map[string]string{"pool": "small"}}, tooBig},
		"an unknown label, by affinity":           {oneOf(all(is(arch, in, "amd64"))), ""},
		"both":                                    {oneOf(all(is(arch, in, "amd64"), is("pool", in, "large"))), ""},
		"an unknown label, and of another group":  {oneOf(all(is(arch, in, "amd64"), is("pool", in, "small"))), tooBig},
		"that the label is missing":               {oneOf(all(is("pool", lacks), is(arch, in, "amd64"))), tooBig},
		"one of two alternatives, and it is this": {oneOf(all(is("pool", in, "small")), all(is(arch, in, "amd64"))), ""},
		"one of two alternatives, both elsewhere": {oneOf(all(is("pool", in, "small")), all(is("pool", in, "tiny"))), tooBig},
		"an alternative that nothing meets":       {oneOf(nil, all(is("pool", in, "small"))), tooBig},
	} {
		t.Run(name, func(t *testing.T) {
			group := node("", "4", "8Gi", "0").with(func(n *corev1.Node) { n.Labels = map[string]string{"pool": "large"} })
			group.New, group.Used = true, nil
			nodes := []Node{group} // Of those that exist, one meets whatever is required, and is too small.
			for _, labels := range []map[string]string{{"pool": "large"}, {"pool": "small"}, {}} {
				labels[arch], labels[corev1.LabelOSStable] = "amd64", "linux"
				nodes = append(nodes, node("a", "2", "8Gi", "0").with(func(n *corev1.Node) { n.Labels = labels }))
			}
			pod := &corev1.Pod{Spec: test.requires}
			pod.Spec.Containers = []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}}}}
			if got, _ := Why(pod, nodes); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestNone: nodes of other groups, and those that take no such pods, do not count.
func TestNone(t *testing.T) {
	a, other := "a", "b"
	one := func(changes ...func(*corev1.Node)) []Node {
		n := node("a", "4", "8Gi", "1").with(func(n *corev1.Node) { n.Labels = map[string]string{"zone": a} })
		for _, change := range changes {
			change(n.Node)
		}
		return []Node{n}
	}
	tainted := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	}
	for name, test := range map[string]struct {
		nodes       []Node
		tolerations []corev1.Toleration
		group       field.Group
		want        bool
	}{
		"no nodes":            {nil, nil, nil, true},
		"one":                 {one(), nil, field.Group{"zone": &a}, false},
		"of another group":    {one(), nil, field.Group{"zone": &other}, true},
		"of no group":         {one(), nil, nil, false},
		"cordoned":            {one(func(n *corev1.Node) { n.Spec.Unschedulable = true }), nil, nil, true},
		"with a taint":        {one(tainted), nil, nil, true},
		"with one it accepts": {one(tainted), []corev1.Toleration{{Key: "gpu"}}, nil, false},
	} {
		if got := None(test.tolerations, test.group, test.nodes); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
