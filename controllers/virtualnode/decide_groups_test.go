package virtualnode

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

const zone = corev1.LabelTopologyZone

// in returns a node with these labels, as "zone=a arch=amd64", and two CPUs.
func in(name, labels string) corev1.Node {
	node := size(name, "2", "2Gi").Allocatable(corev1.ResourcePods, "10")
	for _, label := range strings.Fields(labels) {
		key, value, _ := strings.Cut(label, "=")
		node = node.Label(map[string]string{"zone": zone, "arch": corev1.LabelArchStable, "host": corev1.LabelHostname}[key], value)
	}
	return *node.Obj()
}

func grouped(keys ...string) *v1alpha1.ClusterBinding {
	binding := builder.Binding("eu").Obj()
	binding.Spec.VirtualNode.GroupBy = keys
	return binding
}

// TestGroupsOf checks which groups nodes form, with the names of the nodes behind each.
func TestGroupsOf(t *testing.T) {
	many := func(n int) (nodes []corev1.Node) {
		for i := range n {
			nodes = append(nodes, in(fmt.Sprint(i), fmt.Sprintf("zone=z%02d", i)))
		}
		return nodes
	}
	virtual := in("v", "zone=c")
	virtual.Labels[v1alpha1.LabelNodeType] = v1alpha1.NodeTypeVirtual
	cordoned := in("c", "zone=a")
	cordoned.Spec.Unschedulable = true
	invalid := in("i", "zone=!")
	for name, test := range map[string]struct {
		keys  []string
		nodes []corev1.Node
		want  []string
	}{
		"without groupBy": {nil, []corev1.Node{in("a", "zone=a"), in("b", "zone=b")}, []string{" a b"}},
		"no nodes":        {[]string{zone}, nil, nil},
		"two zones":       {[]string{zone}, []corev1.Node{in("a", "zone=a"), in("b", "zone=b"), in("c", "zone=a")}, []string{`{"topology.kubernetes.io/zone":"a"} a c`, `{"topology.kubernetes.io/zone":"b"} b`}},
		"two keys": {[]string{zone, corev1.LabelArchStable}, []corev1.Node{in("a", "zone=a arch=amd64"), in("b", "zone=a arch=arm64")},
			[]string{`{"kubernetes.io/arch":"amd64","topology.kubernetes.io/zone":"a"} a`, `{"kubernetes.io/arch":"arm64","topology.kubernetes.io/zone":"a"} b`}},
		"nodes that lack the key":                      {[]string{zone}, []corev1.Node{in("a", "zone=a"), in("b", "")}, []string{`{"topology.kubernetes.io/zone":"a"} a`, `{"topology.kubernetes.io/zone":null} b`}},
		"a key that no node has":                       {[]string{zone, "disk"}, []corev1.Node{in("a", "zone=a")}, []string{`{"topology.kubernetes.io/zone":"a"} a`, "missing disk"}},
		"only a key that no node has":                  {[]string{"disk"}, []corev1.Node{in("a", "zone=a"), in("b", "")}, []string{" a b", "missing disk"}},
		"an invalid value counts as none":              {[]string{zone}, []corev1.Node{in("a", "zone=a"), invalid}, []string{`{"topology.kubernetes.io/zone":"a"} a`, `{"topology.kubernetes.io/zone":null} i`}},
		"virtual nodes do not count, cordoned ones do": {[]string{zone}, []corev1.Node{virtual, cordoned}, []string{`{"topology.kubernetes.io/zone":"a"} c`}},
		"65 zones": {[]string{zone}, many(65), []string{"65 nodes in one", "too many 65"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := groupsOf(grouped(), test.keys, test.nodes, mostGroups)
			var got []string
			for _, group := range g.Groups {
				text := group.Labels.String()
				for _, node := range group.Nodes {
					text += " " + node.Name
				}
				if len(group.Nodes) > 9 {
					text = fmt.Sprintf("%d nodes in one", len(group.Nodes))
				}
				got = append(got, text)
				if (text[0] == ' ' || strings.Contains(text, "null")) != (group.Name == "spillway-eu") && g.TooMany == 0 {
					t.Errorf("%s is called %s", text, group.Name)
				}
			}
			slices.Sort(got)
			if len(g.Missing) > 0 {
				got = append(got, "missing "+strings.Join(g.Missing, ","))
			}
			if g.TooMany > 0 {
				got = append(got, fmt.Sprint("too many ", g.TooMany))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if g := groupsOf(grouped(), []string{zone}, many(64), mostGroups); len(g.Groups) != 64 || g.TooMany != 0 {
		t.Errorf("of 64 zones, there are %d groups, and %d are too many", len(g.Groups), g.TooMany)
	}
}

// TestGroupNames: names are of Nodes and of labels, and differ whatever the values are.
func TestGroupNames(t *testing.T) {
	longest := builder.Binding(strings.Repeat("c", 24)).Obj()
	seen := map[string]string{}
	for _, binding := range []*v1alpha1.ClusterBinding{grouped(), longest, builder.Binding("eu-a").Obj()} {
		for _, values := range []map[string]string{
			{zone: "a"}, {zone: "A"}, {zone: "a."}, {zone: ""}, {"zone": "a"}, {zone: "a", "b": "c"}, {zone: "a-c"}, {zone: strings.Repeat("x", 63)}, {zone: strings.Repeat("x", 62)}, {zone: "_._"},
		} {
			name := groupName(binding, values)
			if problems := append(validation.IsDNS1123Subdomain(name), validation.IsValidLabelValue(name)...); len(problems) > 0 {
				t.Errorf("%s of %v: %v", name, values, problems)
			}
			what := fmt.Sprint(binding.Name, values)
			if before := seen[name]; before != "" {
				t.Errorf("%s is of %s and of %s", name, before, what)
			}
			seen[name] = what
			if v1alpha1.ClusterIDOf(name) != binding.Spec.ClusterID {
				t.Errorf("%s belongs to %s", name, v1alpha1.ClusterIDOf(name))
			}
		}
	}
	if got := groupName(grouped(), map[string]string{zone: "eu-west-1a"}); !strings.HasPrefix(got, "spillway-eu.eu-west-1a-") {
		t.Errorf("%s does not say its zone", got)
	}
}

// TestShares: the limits of the binding, and what older bindings have, are divided between the groups.
func TestShares(t *testing.T) {
	nodes := []corev1.Node{in("a", "zone=a"), in("b", "zone=b"), in("c", "zone=b"), in("d", "zone=b")}
	older := builder.Binding("us").Obj()
	older.Spec.VirtualNode.Capacity = map[corev1.ResourceName]intstr.IntOrString{"cpu": intstr.FromString("50%")}
	for name, test := range map[string]struct {
		limit string
		older []*v1alpha1.ClusterBinding
		want  string
	}{
		"all":                      {"", nil, "a 2 CPUs 10 pods, b 6 CPUs 30 pods"},
		"half":                     {"50%", nil, "a 1 CPUs 10 pods, b 3 CPUs 30 pods"},
		"a limit of all together":  {"3", nil, "a 750m CPUs 10 pods, b 2250m CPUs 30 pods"},
		"a limit above what there": {"100", nil, "a 2 CPUs 10 pods, b 6 CPUs 30 pods"},
		"nothing":                  {"0", nil, "a 0 CPUs 10 pods, b 0 CPUs 30 pods"},
		"an older one has half":    {"", []*v1alpha1.ClusterBinding{older}, "a 1 CPUs 0 pods, b 3 CPUs 0 pods"},
	} {
		t.Run(name, func(t *testing.T) {
			binding := grouped(zone)
			if test.limit != "" {
				binding.Spec.VirtualNode.Capacity = map[corev1.ResourceName]intstr.IntOrString{"cpu": intstr.FromString(test.limit)}
			}
			offer, groups := Offer{Nodes: nodes, Older: test.older}, groupsOf(binding, binding.Spec.VirtualNode.GroupBy, nodes, mostGroups).Groups
			offer.Rooms = divide(binding, offer, groups)
			var got []string
			for _, group := range groups {
				node := &corev1.Node{}
				applyStatus(node, binding, offer.of(Member{Group: group}), metav1.NewTime(builder.Epoch))
				got = append(got, fmt.Sprintf("%s %s CPUs %s pods", *group.Labels[zone], node.Status.Allocatable.Cpu(), node.Status.Allocatable.Pods()))
			}
			slices.Sort(got)
			if joined := strings.Join(got, ", "); joined != test.want {
				t.Errorf("got %s, want %s", joined, test.want)
			}
		})
	}
}

// TestMembers plays the life of the virtual nodes of a binding. Each step keeps what the ones before have written.
func TestMembers(t *testing.T) {
	binding, now := grouped(zone), builder.Epoch
	existing, busy := map[string]*corev1.Node{}, ""
	a, b := in("a", "zone=a"), in("b", "zone=b")
	down := in("b", "zone=b")
	down.Spec.Unschedulable = true
	for _, step := range []struct {
		name  string
		after time.Duration
		keys  []string
		nodes []corev1.Node
		busy  string
		want  string
	}{
		{"a provider without nodes has one", 0, []string{zone}, nil, "", "spillway-eu"},
		{"groups replace it, and its pods stay", 0, []string{zone}, []corev1.Node{a, b}, "spillway-eu", "a b spillway-eu:GroupReplaced"},
		{"nothing changes", time.Hour, []string{zone}, []corev1.Node{a, b}, "spillway-eu", "a b spillway-eu:GroupReplaced"},
		{"its pods have ended", 0, []string{zone}, []corev1.Node{a, b}, "", "a b -spillway-eu"},
		{"a group without a usable node stays", 0, []string{zone}, []corev1.Node{a, down}, "b", "a b"},
		{"a group is empty", time.Hour, []string{zone}, []corev1.Node{a}, "b", "a b:empty again 10m0s"},
		{"it is still", time.Minute, []string{zone}, []corev1.Node{a}, "b", "a b:empty again 9m0s"},
		{"an autoscaler comes back", time.Minute, []string{zone}, []corev1.Node{a, b}, "b", "a b"},
		{"it goes again", time.Hour, []string{zone}, []corev1.Node{a}, "b", "a b:empty again 10m0s"},
		{"for long", 10 * time.Minute, []string{zone}, []corev1.Node{a}, "b", "a b:GroupEmpty"},
		{"it comes back while its pods leave", time.Minute, []string{zone}, []corev1.Node{a, b}, "b", "a b"},
		{"it goes for good, and without pods there is nothing to wait for", time.Hour, []string{zone}, []corev1.Node{a}, "", "a b:GroupEmpty"},
		{"and then deleted", 0, []string{zone}, []corev1.Node{a}, "", "a -b"},
		{"a new group needs a usable node", 0, []string{zone}, []corev1.Node{a, down}, "", "a"},
		{"all nodes are away for a moment", 0, []string{zone}, nil, "a", "a:empty again 10m0s"},
		{"they are back", 0, []string{zone}, []corev1.Node{a}, "a", "a"},
		{"without groupBy, the pods of groups stay", 0, nil, []corev1.Node{a}, "a", "spillway-eu a:GroupReplaced"},
		{"until they end", 0, nil, []corev1.Node{a}, "", "spillway-eu -a"},
	} {
		now, busy = now.Add(step.after), step.busy
		binding.Spec.VirtualNode.GroupBy = step.keys
		short := func(name string) string {
			rest, _ := strings.CutPrefix(name, "spillway-eu.")
			return strings.Split(rest+"-", "-")[0] + map[bool]string{true: "-eu"}[name == "spillway-eu"]
		}
		offer := Offer{Nodes: step.nodes}
		p := decideMembers(members{Binding: binding, Grouping: groupsOf(binding, step.keys, step.nodes, mostGroups), Offer: offer, Existing: existing,
			Busy: func(node string) bool { return short(node) == busy }, Now: now})
		var got []string
		for _, m := range p.Keep {
			text := short(m.Name)
			if m.Cordoned != "" {
				text += ":" + m.Cordoned
			} else if !m.EmptySince.IsZero() {
				text += ":empty"
			}
			got = append(got, text)
			if existing[m.Name] == nil {
				existing[m.Name] = New(binding, offer.of(m))
			}
			apply(existing[m.Name], binding, offer.of(m))
			if before := existing[m.Name].DeepCopy(); existing[m.Name].Spec.Unschedulable != (m.Cordoned != "") {
				t.Errorf("%s: %s has the spec %v", step.name, m.Name, before.Spec)
			} else if apply(existing[m.Name], binding, offer.of(m)); !cmp.Equal(before, existing[m.Name]) {
				t.Errorf("%s: %s changes again", step.name, m.Name)
			}
		}
		for _, node := range p.Delete {
			got = append(got, "-"+short(node.Name))
			delete(existing, node.Name)
		}
		if p.RecheckAfter > 0 {
			got = append(got, "again "+p.RecheckAfter.String())
		}
		if joined := strings.Join(got, " "); joined != step.want {
			t.Errorf("%s: got %q, want %q", step.name, joined, step.want)
		}
	}
}

// TestMembersAreBounded: no label can cause any number of virtual nodes, and a deleted one with pods comes back.
func TestMembersAreBounded(t *testing.T) {
	binding, existing := grouped(zone), map[string]*corev1.Node{}
	for i := range mostNodes - 1 {
		name := fmt.Sprint("spillway-eu.former-", i)
		existing[name] = New(binding, Offer{Member: Member{Group: Group{Name: name}}})
	}
	nodes := []corev1.Node{in("a", "zone=a"), in("b", "zone=b")}
	all := groupsOf(binding, []string{zone}, nodes, mostGroups)
	busy := func(string) bool { return true }
	p := decideMembers(members{Binding: binding, Grouping: all, Offer: Offer{Nodes: nodes}, Existing: existing, Busy: busy})
	if len(p.Keep) != mostNodes || p.Waiting != 1 || groupedCondition(binding, Grouping{Waiting: 1}).Reason != "TooManyGroups" {
		t.Errorf("%d nodes, and %d groups wait", len(p.Keep), p.Waiting)
	}
	known := map[string]Member{all.Groups[0].Name: {Group: Group{Name: all.Groups[0].Name, Labels: all.Groups[0].Labels}}}
	nodes[0].Spec.Unschedulable, nodes[1].Spec.Unschedulable = true, true
	for name, test := range map[string]struct {
		nodes []corev1.Node
		busy  bool
		want  int
	}{"not usable": {nodes, true, 1}, "no nodes": {nil, true, 2}, "no pods": {nodes, false, 0}} { // Without nodes, there is the one without a group, too.
		p := decideMembers(members{Binding: binding, Grouping: groupsOf(binding, []string{zone}, test.nodes, mostGroups), Offer: Offer{Nodes: test.nodes},
			Known: known, Busy: func(string) bool { return test.busy }})
		if len(p.Keep) != test.want {
			t.Errorf("%s: %v", name, p.Keep)
		}
	}
}

// TestCordonedBySomebody: an empty group stays cordoned for when it comes back, until somebody ends that. One that groupBy has
// replaced does not come back.
func TestCordonedBySomebody(t *testing.T) {
	binding, a, b := grouped(zone), in("a", "zone=a"), in("b", "zone=b")
	group := groupsOf(binding, []string{zone}, []corev1.Node{b}, mostGroups).Groups[0]
	for name, test := range map[string]struct {
		by      string
		keys    []string
		nodes   []corev1.Node
		deleted int
	}{
		"empty, cordoned by the manager":  {v1alpha1.CordonedEmpty, []string{zone}, []corev1.Node{a}, 1},
		"empty, cordoned by somebody":     {"", []string{zone}, []corev1.Node{a}, 0},
		"replaced, cordoned by somebody":  {"", nil, []corev1.Node{a, b}, 1},
		"it comes back while it is there": {"", []string{zone}, []corev1.Node{a, b}, 0},
	} {
		node := New(binding, Offer{}.of(Member{Group: group, Cordoned: test.by}))
		node.Spec.Unschedulable = true
		p := decideMembers(members{Binding: binding, Grouping: groupsOf(binding, test.keys, test.nodes, mostGroups), Offer: Offer{Nodes: test.nodes},
			Existing: map[string]*corev1.Node{node.Name: node}, Busy: func(string) bool { return false }, Now: builder.Epoch})
		if len(p.Delete) != test.deleted || p.RecheckAfter > 0 {
			t.Errorf("%s: %d are deleted, and it is looked at again after %s", name, len(p.Delete), p.RecheckAfter)
		}
	}
}

// TestGroupedNode checks what the virtual node of a group shows, and that it is like the one without groups otherwise.
func TestGroupedNode(t *testing.T) {
	binding := grouped(zone, corev1.LabelHostname)
	nodes := []corev1.Node{in("a", "zone=a host=worker-1")}
	offer := Offer{Nodes: nodes, Kubelet: Endpoint{Address: "10.0.0.1"}}
	group := groupsOf(binding, binding.Spec.VirtualNode.GroupBy, nodes, mostGroups).Groups[0]
	node, plain := New(binding, offer.of(Member{Group: group})), New(binding, offer)
	if node.Labels[zone] != "a" || node.Labels[corev1.LabelHostname] != node.Name || node.Labels[v1alpha1.TopologyHost] != node.Name || node.Labels[v1alpha1.LabelCluster] != "eu" {
		t.Errorf("labels %v", node.Labels)
	}
	if want := `{"kubernetes.io/hostname":"worker-1","topology.kubernetes.io/zone":"a"}`; node.Annotations[v1alpha1.AnnotationGroup] != want || node.Spec.ProviderID != "spillway://"+node.Name {
		t.Errorf("annotations %v, spec %v", node.Annotations, node.Spec)
	}
	if diff := cmp.Diff(plain.Spec.Taints, node.Spec.Taints); diff != "" {
		t.Error(diff)
	}
	cordoned := New(binding, offer.of(Member{Group: group}))
	cordoned.Spec.Unschedulable = true // By an administrator.
	for _, why := range []string{v1alpha1.CordonedEmpty, "", v1alpha1.CordonedReplaced} {
		if apply(cordoned, binding, offer.of(Member{Group: group, Cordoned: why})); !cordoned.Spec.Unschedulable || cordoned.Annotations[v1alpha1.AnnotationCordoned] != "" {
			t.Errorf("after %q: what an administrator has cordoned became %v %v", why, cordoned.Spec, cordoned.Annotations)
		}
		if gone := eviction.GroupGone(cordoned); gone != (why == v1alpha1.CordonedEmpty) {
			t.Errorf("after %q: its pods must leave: %v", why, gone)
		}
	}
}

// TestDrainedBinding: a virtual node that appears in a drained provider is cordoned, until somebody ends that.
func TestDrainedBinding(t *testing.T) {
	for value, want := range map[string]bool{v1alpha1.DrainedTrue: true, "": false} {
		binding := grouped(zone)
		binding.Annotations = map[string]string{v1alpha1.AnnotationDrained: value}
		offer := Offer{Nodes: []corev1.Node{in("a", "zone=a")}}
		of := offer.of(Member{Group: groupsOf(binding, []string{zone}, offer.Nodes, mostGroups).Groups[0]})
		node := New(binding, of)
		if node.Spec.Unschedulable != want || node.Annotations[v1alpha1.AnnotationCordoned] != "" {
			t.Errorf("with %q: cordoned %v, by %q", value, node.Spec.Unschedulable, node.Annotations[v1alpha1.AnnotationCordoned])
		}
		node.Spec.Unschedulable = false
		if apply(node, binding, of); node.Spec.Unschedulable {
			t.Errorf("with %q: it is cordoned again", value)
		}
		empty := of
		empty.Member.Cordoned = v1alpha1.CordonedEmpty
		apply(node, binding, empty)
		if apply(node, binding, of); node.Spec.Unschedulable != want || node.Annotations[v1alpha1.AnnotationCordoned] != "" {
			t.Errorf("with %q: once its group is back, it is cordoned: %v, by %q", value, node.Spec.Unschedulable, node.Annotations[v1alpha1.AnnotationCordoned])
		}
		node.Spec.Unschedulable, empty.Member.Cordoned = true, v1alpha1.CordonedEmpty
		if got := empty.Member.deletable(node, drained(binding)); got != want {
			t.Errorf("with %q: without a group, it may be deleted: %v", value, got)
		}
	}
}

func TestGroupedCondition(t *testing.T) {
	for want, g := range map[string]Grouping{"Grouped": {}, "TooManyGroups": {TooMany: 65}, "GroupKeyMissing": {Missing: []string{zone}}} {
		if got := groupedCondition(grouped(zone), g); got == nil || got.Reason != want || !strings.Contains(got.Message, zone) {
			t.Errorf("%v, want %s", got, want)
		}
	}
	binding := grouped(zone)
	setOn(binding, v1alpha1.BindingGrouped, groupedCondition(binding, Grouping{}))
	binding.Spec.VirtualNode.GroupBy = nil
	if setOn(binding, v1alpha1.BindingGrouped, groupedCondition(binding, Grouping{})); grouping(binding) != nil {
		t.Error("the condition stays without groupBy")
	}
}

// TestRestored: a manager that has just started restores the nodes with pods that somebody has deleted, as the status of
// the binding has them. Each goes on from there: its group has no usable node now, or none at all, or is not asked for.
func TestRestored(t *testing.T) {
	binding := grouped(zone)
	a, gone := in("a", "zone=a"), in("b", "zone=b")
	a.Spec.Unschedulable = true
	groups := groupsOf(binding, []string{zone}, []corev1.Node{a, gone}, mostGroups).Groups
	for _, group := range groups {
		binding.Status.VirtualNodes = append(binding.Status.VirtualNodes, v1alpha1.VirtualNodeStatus{Name: group.Name, Group: group.Labels.String()})
	}
	binding.Status.VirtualNodes = append(binding.Status.VirtualNodes, v1alpha1.VirtualNodeStatus{Name: "spillway-eu"}, v1alpha1.VirtualNodeStatus{Name: "spillway-eu.unreadable"})
	for _, busy := range []bool{true, false} {
		p := decideMembers(members{Binding: binding, Grouping: groupsOf(binding, []string{zone}, []corev1.Node{a}, mostGroups), Offer: Offer{Nodes: []corev1.Node{a}},
			Known: withRecorded(binding, nil), Busy: func(string) bool { return busy }, Now: builder.Epoch})
		var got []string
		for _, m := range p.Keep {
			got = append(got, fmt.Sprint(m.Labels, " ", m.Cordoned, " ", !m.EmptySince.IsZero()))
		}
		want := []string{groups[0].Labels.String() + "  false", " GroupReplaced false", groups[1].Labels.String() + "  true"}
		if !busy {
			want = nil
		}
		if diff := cmp.Diff(want, got); diff != "" || busy != (p.RecheckAfter == emptyGrace) {
			t.Errorf("with pods: %v, again after %s (-want +got)\n%s", busy, p.RecheckAfter, diff)
		}
	}
}

// TestTooManyForAWhile: around 64 groups, not each node more or less replaces all virtual nodes.
func TestTooManyForAWhile(t *testing.T) {
	binding, existing := grouped(zone), []*corev1.Node(nil)
	for i, step := range []struct{ groups, shown int }{{64, 64}, {65, 1}, {64, 1}, {57, 1}, {65, 1}, {56, 56}, {64, 64}, {65, 1}} {
		var nodes []corev1.Node
		for n := range step.groups {
			nodes = append(nodes, in(fmt.Sprint(n), fmt.Sprint("zone=z", n)))
		}
		g := groupsOf(binding, []string{zone}, nodes, limitOf(binding, existing))
		if len(g.Groups) != step.shown {
			t.Errorf("step %d: %d groups are shown as %d", i, step.groups, len(g.Groups))
		}
		setOn(binding, v1alpha1.BindingGrouped, groupedCondition(binding, g))
		existing = nil
		for _, group := range g.Groups {
			existing = append(existing, New(binding, Offer{}.of(Member{Group: group})))
		}
	}
	binding.Generation++ // Somebody has chosen other keys.
	if limitOf(binding, existing) != mostGroups {
		t.Error("what was true of other keys counts")
	}
}
