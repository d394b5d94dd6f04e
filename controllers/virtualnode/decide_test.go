package virtualnode

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

var ownTaint = corev1.Taint{Key: "spillway.io/virtual-node", Value: "eu", Effect: corev1.TaintEffectNoSchedule}

func rich() *builder.BindingBuilder {
	return builder.Binding("eu").Label("region", "eu").Annotation("contact", "ops").Taint("gpu", "yes", corev1.TaintEffectNoExecute)
}

func TestNew(t *testing.T) {
	binding := rich().Obj()
	node := New(binding, Offer{})
	if node.Name != "spillway-eu" || !metav1.IsControlledBy(node, binding) || !*node.OwnerReferences[0].BlockOwnerDeletion {
		t.Errorf("%s is owned by %v", node.Name, node.OwnerReferences)
	}
	yes := true
	owner := []metav1.OwnerReference{{APIVersion: "offloading.spillway.io/v1alpha1", Kind: "ClusterBinding", Name: "eu", UID: binding.UID, Controller: &yes, BlockOwnerDeletion: &yes}}
	if diff := cmp.Diff(owner, node.OwnerReferences); diff != "" {
		t.Errorf("owners (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff(placement.NodeLabels(binding), node.Labels); diff != "" {
		t.Errorf("labels (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]corev1.Taint{ownTaint, {Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoExecute}}, node.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got)\n%s", diff)
	}
	if node.Spec.ProviderID != "spillway://spillway-eu" {
		t.Errorf("providerID %s", node.Spec.ProviderID)
	}
	if node.Annotations["contact"] != "ops" || node.Spec.Unschedulable {
		t.Errorf("annotations %v, unschedulable: %v", node.Annotations, node.Spec.Unschedulable)
	}
}

// TestLabelsOfClasses checks that pods of an imported RuntimeClass, and volumes of an imported StorageClass,
// find the nodes that map it.
func TestLabelsOfClasses(t *testing.T) {
	binding := rich().Obj()
	for _, name := range []string{"sandbox", "gone", strings.Repeat("a", 64)} { // The last name cannot be imported.
		binding.Spec.Classes = append(binding.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassRuntime, Name: name, RemoteName: "gvisor"})
	}
	for _, name := range []string{"fast", strings.Repeat("b", 64)} {
		binding.Spec.Classes = append(binding.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassStorage, Name: name, RemoteName: "ssd"})
	}
	binding.Spec.Classes = append(binding.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassPriority, Name: "high", RemoteName: "low"})
	want := placement.NodeLabels(binding)
	want["storageclass.spillway.io/fast"] = "mapped"
	want["runtimeclass.spillway.io/sandbox"], want["runtimeclass.spillway.io/gone"] = "mapped", "mapped"
	node := New(binding, Offer{})
	if diff := cmp.Diff(want, node.Labels); diff != "" {
		t.Error(diff)
	}
	binding.Spec.Classes = binding.Spec.Classes[:1]
	delete(want, "runtimeclass.spillway.io/gone")
	delete(want, "storageclass.spillway.io/fast")
	apply(node, binding, Offer{})
	if diff := cmp.Diff(want, node.Labels); diff != "" {
		t.Errorf("when most are not mapped any more: %s", diff)
	}
}

// TestProviderID checks that a provider ID is set only once, because the API server refuses changes.
func TestProviderID(t *testing.T) {
	for before, want := range map[string]string{"": "spillway://spillway-eu", "spillway://spillway-eu": "spillway://spillway-eu", "somebody://else": "somebody://else"} {
		node := New(rich().Obj(), Offer{})
		node.Spec.ProviderID = before
		apply(node, rich().Obj(), Offer{})
		if node.Spec.ProviderID != want {
			t.Errorf("%q became %q, want %q", before, node.Spec.ProviderID, want)
		}
	}
	// The cloud provider of AWS reads the part after the last slash. If it begins like this, AWS treats it as
	// one of its own machines, does not find it, and has the node deleted.
	for _, clusterID := range []string{"i-team", "fargate-team"} {
		id := New(builder.Binding(clusterID).Obj(), Offer{}).Spec.ProviderID
		if last := id[strings.LastIndex(id, "/")+1:]; strings.HasPrefix(last, "i-") || strings.HasPrefix(last, "fargate-") {
			t.Errorf("%s looks like a machine of AWS", id)
		}
	}
}

func TestApply(t *testing.T) {
	since := metav1.NewTime(builder.Epoch)
	unreachable := corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute, TimeAdded: &since}
	gpu := corev1.Taint{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoExecute}
	tests := map[string]struct {
		change      func(*corev1.Node)
		binding     *builder.BindingBuilder
		labels      map[string]string // In addition to those that every virtual node has.
		annotations map[string]string // In addition to the one that remembers.
		taints      []corev1.Taint
	}{
		"nothing changed": {func(*corev1.Node) {}, rich(), map[string]string{"region": "eu"}, map[string]string{"contact": "ops"}, []corev1.Taint{ownTaint, gpu}},
		"ours change": {func(*corev1.Node) {}, builder.Binding("eu").Label("region", "us").Annotation("contact", "dev").Taint("gpu", "no", corev1.TaintEffectNoExecute),
			map[string]string{"region": "us"}, map[string]string{"contact": "dev"}, []corev1.Taint{ownTaint, {Key: "gpu", Value: "no", Effect: corev1.TaintEffectNoExecute}}},
		"ours go": {func(*corev1.Node) {}, builder.Binding("eu"), nil, nil, []corev1.Taint{ownTaint}},
		"another effect is another taint": {func(*corev1.Node) {}, builder.Binding("eu").Taint("gpu", "yes", corev1.TaintEffectNoSchedule),
			nil, nil, []corev1.Taint{ownTaint, {Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}},
		"those of others stay, where they are": {func(n *corev1.Node) {
			n.Labels["theirs"], n.Annotations["theirs"] = "x", "y"
			n.Spec.Taints = append([]corev1.Taint{unreachable}, n.Spec.Taints...)
		}, builder.Binding("eu"), map[string]string{"theirs": "x"}, map[string]string{"theirs": "y"}, []corev1.Taint{unreachable, ownTaint}},
		"what others change of ours is put back": {func(n *corev1.Node) {
			n.Labels["region"], n.Labels[v1alpha1.LabelNodeType], n.Annotations["contact"] = "x", "y", "z"
			n.Spec.Taints[0].Value = "us"
		}, rich(), map[string]string{"region": "eu"}, map[string]string{"contact": "ops"}, []corev1.Taint{ownTaint, gpu}},
		"what others take away of ours is put back": {func(n *corev1.Node) {
			delete(n.Labels, v1alpha1.LabelNodeType)
			delete(n.Annotations, "contact")
			n.Spec.Taints = nil
		}, rich(), map[string]string{"region": "eu"}, map[string]string{"contact": "ops"}, []corev1.Taint{ownTaint, gpu}},
		"without what remembers nothing is taken away": {func(n *corev1.Node) { delete(n.Annotations, annotationApplied) },
			builder.Binding("eu"), map[string]string{"region": "eu"}, map[string]string{"contact": "ops"}, []corev1.Taint{ownTaint, gpu}},
		"nor if that cannot be read": {func(n *corev1.Node) { n.Annotations[annotationApplied] = "{" },
			builder.Binding("eu"), map[string]string{"region": "eu"}, map[string]string{"contact": "ops"}, []corev1.Taint{ownTaint, gpu}},
		"the time of a taint stays": {func(n *corev1.Node) { n.Spec.Taints[1].TimeAdded = &since },
			rich(), map[string]string{"region": "eu"}, map[string]string{"contact": "ops"}, []corev1.Taint{ownTaint, {Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoExecute, TimeAdded: &since}}},
		"of two taints of one key and effect the first counts": {func(*corev1.Node) {}, rich().Taint("gpu", "maybe", corev1.TaintEffectNoExecute),
			map[string]string{"region": "eu"}, map[string]string{"contact": "ops"}, []corev1.Taint{ownTaint, gpu}},
		"a new node, two taints of one key and effect": {func(n *corev1.Node) { *n = corev1.Node{} }, rich().Taint("gpu", "maybe", corev1.TaintEffectNoExecute),
			map[string]string{"region": "eu"}, map[string]string{"contact": "ops"}, []corev1.Taint{ownTaint, gpu}},
		"a cordon stays": {func(n *corev1.Node) { n.Spec.Unschedulable = true }, rich(), map[string]string{"region": "eu"}, map[string]string{"contact": "ops"}, []corev1.Taint{ownTaint, gpu}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			node := New(rich().Obj(), Offer{})
			test.change(node)
			cordoned := node.Spec.Unschedulable
			apply(node, test.binding.Obj(), Offer{})

			want := placement.NodeLabels(builder.Binding("eu").Obj())
			for key, value := range test.labels {
				want[key] = value
			}
			if diff := cmp.Diff(want, node.Labels); diff != "" {
				t.Errorf("labels (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(test.taints, node.Spec.Taints); diff != "" {
				t.Errorf("taints (-want +got)\n%s", diff)
			}
			again := node.DeepCopy()
			delete(node.Annotations, annotationApplied)
			if diff := cmp.Diff(test.annotations, node.Annotations, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("annotations (-want +got)\n%s", diff)
			}
			if node.Spec.Unschedulable != cordoned {
				t.Errorf("unschedulable: %v", node.Spec.Unschedulable)
			}
			once := again.DeepCopy()
			apply(again, test.binding.Obj(), Offer{})
			if diff := cmp.Diff(once, again); diff != "" {
				t.Errorf("the second time something changes (-once +twice)\n%s", diff)
			}
		})
	}
}

func TestApplyStatus(t *testing.T) {
	binding := rich().Obj()
	binding.Status.KubernetesVersion = "v1.36.3"
	provider := []corev1.Node{*size("a", "1", "1Gi").Label(corev1.LabelArchStable, "amd64").Obj(), *size("b", "2", "2Gi").Label(corev1.LabelArchStable, "amd64").Obj(), *size("c", "4", "4Gi").Label(corev1.LabelArchStable, "amd64").Obj()}
	first, later := metav1.NewTime(builder.Epoch), metav1.NewTime(builder.Epoch.Add(time.Hour))
	node := New(binding, Offer{Nodes: provider})
	applyStatus(node, binding, Offer{Nodes: provider}, first)

	if got := node.Status.Capacity.Cpu().String() + " " + node.Status.Allocatable.Memory().String(); got != "7 7Gi" {
		t.Errorf("capacity %s", got)
	}
	if got := node.Status.NodeInfo; got.KubeletVersion != "v1.36.3" || got.OperatingSystem != "linux" || got.Architecture != "amd64" {
		t.Errorf("node info %+v", got)
	}
	if diff := cmp.Diff([]corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "spillway-eu"}}, node.Status.Addresses); diff != "" {
		t.Error(diff)
	}
	for _, c := range node.Status.Conditions {
		if (c.Type == corev1.NodeReady) != (c.Status == corev1.ConditionTrue) || !c.LastTransitionTime.Equal(&first) {
			t.Errorf("condition %+v", c)
		}
	}

	again := node.DeepCopy()
	applyStatus(again, binding, Offer{Nodes: []corev1.Node{provider[2], provider[0], provider[1]}}, later)
	if diff := cmp.Diff(node, again); diff != "" {
		t.Errorf("nothing changed, and it differs (-first +second)\n%s", diff)
	}

	applyStatus(again, binding, Offer{Unknown: true}, later)
	if diff := cmp.Diff(node, again); diff != "" {
		t.Errorf("the provider's nodes cannot be seen, and the offer differs (-before +after)\n%s", diff)
	}

	// Kubernetes set it to Unknown while the provider could not be reached. The conditions of other writers
	// stay.
	again.Status.Conditions[0].Status, again.Status.Conditions[0].Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
	again.Status.Conditions = append(again.Status.Conditions, corev1.NodeCondition{Type: "Theirs", Status: corev1.ConditionTrue})
	applyStatus(again, binding, Offer{}, later)
	if c := again.Status.Conditions[0]; c.Status != corev1.ConditionTrue || !c.LastTransitionTime.Equal(&later) || c.Reason != v1alpha1.ReasonNoUsableNodes {
		t.Errorf("it is not Ready again: %+v", c)
	}
	if len(again.Status.Conditions) != 5 || len(again.Status.Capacity) != 0 {
		t.Errorf("without nodes it has %+v", again.Status)
	}

	// Somebody has emptied the binding's status. Its earlier content was correct.
	binding.Status = v1alpha1.ClusterBindingStatus{}
	wiped := node.DeepCopy()
	applyStatus(wiped, binding, Offer{Nodes: provider}, later)
	if diff := cmp.Diff(node, wiped); diff != "" {
		t.Errorf("the binding says no version, and the node differs (-before +after)\n%s", diff)
	}
}
