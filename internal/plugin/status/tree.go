package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin/install"
)

// Names in Hidden.
const (
	Pods        = "Pods"
	Offloadings = "NamespaceOffloadings"
)

// Seen is what the consumer's API server shows. A list that may not be read is empty, and
// Hidden names it.
type Seen struct {
	Bindings    []v1alpha1.ClusterBinding
	Nodes       []corev1.Node
	Offloadings []v1alpha1.NamespaceOffloading
	// Pods are those of offloaded namespaces that have no node, and those on virtual nodes.
	Pods []corev1.Pod
	// Local are pods of offloaded namespaces on nodes that are not virtual.
	Local  []corev1.Pod
	Hidden []string
	// Available says whether the manager is, and Waits why not. Outside is what it calls itself
	// if it runs outside of this cluster.
	Available      bool
	Waits, Outside string
}

// Status is what -o json prints.
type Status struct {
	Manager  Manager   `json:"manager"`
	Bindings []Binding `json:"bindings"`
	// Unplaced are offloaded namespaces with what waits in them for a node.
	Unplaced []Namespace `json:"unplaced,omitempty"`
	// Hidden are kinds that you may not read.
	Hidden []string `json:"hidden,omitempty"`
}

// Manager is the program that does all of it.
type Manager struct {
	Available bool   `json:"available"`
	Message   string `json:"message,omitempty"`
	// Outside is what it calls itself if it runs outside of this cluster.
	Outside string `json:"outside,omitempty"`
}

// Wait is something that is not as it should be, and why.
type Wait struct {
	// Type is that of the condition, empty for what is no condition.
	Type    string `json:"type,omitempty"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// String implements fmt.Stringer.
func (w Wait) String() string {
	return strings.TrimSuffix(strings.TrimPrefix(w.Type+" ", " ")+w.Reason+": "+w.Message, ": ")
}

// Binding is a provider.
type Binding struct {
	Name      string `json:"name"`
	ClusterID string `json:"clusterID"`
	Ready     bool   `json:"ready"`
	Reason    string `json:"reason"`
	Version   string `json:"version,omitempty"`
	// Waits are all conditions that are not as they should be.
	Waits      []Wait      `json:"waits,omitempty"`
	Node       *Node       `json:"node,omitempty"`
	Namespaces []Namespace `json:"namespaces,omitempty"`
}

// Node is a virtual node.
type Node struct {
	Name          string            `json:"name"`
	Ready         bool              `json:"ready"`
	Unschedulable bool              `json:"unschedulable,omitempty"`
	Offers        map[string]string `json:"offers,omitempty"`
}

// Namespace is an offloaded one, in one provider.
type Namespace struct {
	Name   string `json:"name"`
	Remote string `json:"remote,omitempty"`
	Ready  bool   `json:"ready"`
	Waits  []Wait `json:"waits,omitempty"`
	Pods   []Pod  `json:"pods,omitempty"`
}

// Pod is a pod on a virtual node, or one that has no node.
type Pod struct {
	Name  string `json:"name"`
	Phase string `json:"phase"`
	// Runs is true for a pod that is ready, or has ended well.
	Runs  bool   `json:"runs"`
	Waits []Wait `json:"waits,omitempty"`
}

// Tree orders what is seen: bindings, their nodes and namespaces, and pods.
func Tree(seen Seen) Status {
	all := Status{Manager: Manager{Available: seen.Available, Message: seen.Waits, Outside: seen.Outside}, Bindings: []Binding{}, Hidden: seen.Hidden}
	for i := range seen.Bindings {
		all.Bindings = append(all.Bindings, bindingOf(&seen.Bindings[i], seen))
	}
	for i := range seen.Offloadings {
		offloading := &seen.Offloadings[i]
		namespace := Namespace{Name: offloading.Namespace}
		namespace.Ready, namespace.Waits = conditionsOf(offloading.Status.Conditions, offloading.Generation, offloadingTypes)
		for j := range seen.Pods {
			if pod := &seen.Pods[j]; pod.Namespace == offloading.Namespace && pod.Spec.NodeName == "" && !ended(pod) {
				namespace.Pods = append(namespace.Pods, podOf(pod))
			}
		}
		if len(namespace.Pods) > 0 || !namespace.Ready || len(namespace.Waits) > 0 {
			all.Unplaced = append(all.Unplaced, namespace)
		}
	}
	return all
}

// want are the conditions of a kind, and the status that is as it should be. Others are not
// shown.
type want map[string]metav1.ConditionStatus

var bindingTypes = want{
	v1alpha1.BindingReady: metav1.ConditionTrue, v1alpha1.BindingCredentialsValid: metav1.ConditionTrue, v1alpha1.BindingConnected: metav1.ConditionTrue,
	v1alpha1.BindingVirtualNodeReady: metav1.ConditionTrue, v1alpha1.BindingPodAdmission: metav1.ConditionTrue, v1alpha1.BindingMountNamespaceReady: metav1.ConditionTrue,
	v1alpha1.BindingFenced: metav1.ConditionTrue, v1alpha1.BindingLimitsKnown: metav1.ConditionTrue, v1alpha1.BindingLimited: metav1.ConditionFalse,
	v1alpha1.BindingWritesRefused: metav1.ConditionFalse, v1alpha1.BindingVersionSkew: metav1.ConditionFalse, v1alpha1.BindingShared: metav1.ConditionFalse, v1alpha1.BindingDrained: metav1.ConditionTrue,
	v1alpha1.BindingClassesReady: metav1.ConditionTrue,
}

var offloadingTypes = want{v1alpha1.OffloadingReady: metav1.ConditionTrue, v1alpha1.OffloadingProvidersReachable: metav1.ConditionTrue}

// alarming are reasons that are worth telling although the condition is as it should be.
var alarming = []string{v1alpha1.ReasonExpiresSoon, v1alpha1.ReasonNoUsableNodes}

// conditionsOf says whether Ready is True, and which conditions are not as they should be.
func conditionsOf(conditions []metav1.Condition, generation int64, types want) (ready bool, waits []Wait) {
	summary := meta.FindStatusCondition(conditions, v1alpha1.BindingReady)
	if summary == nil || summary.ObservedGeneration < generation {
		return false, []Wait{{Reason: "NotSeen", Message: "the manager has not taken it up yet"}}
	}
	for _, c := range conditions {
		right, known := types[c.Type]
		if known && (c.Status != right || slices.Contains(alarming, c.Reason)) {
			waits = append(waits, Wait{Type: c.Type, Reason: c.Reason, Message: c.Message})
		}
	}
	if summary.Status == metav1.ConditionTrue {
		return true, waits
	}
	// The summary repeats what another condition says.
	others := slices.DeleteFunc(slices.Clone(waits), func(w Wait) bool { return w.Type == summary.Type })
	if slices.ContainsFunc(others, func(w Wait) bool { return w.Reason == summary.Reason }) {
		waits = others
	}
	return false, waits
}

func bindingOf(binding *v1alpha1.ClusterBinding, seen Seen) Binding {
	b := Binding{Name: binding.Name, ClusterID: binding.Spec.ClusterID, Version: binding.Status.KubernetesVersion}
	b.Ready, b.Waits = conditionsOf(binding.Status.Conditions, binding.Generation, bindingTypes)
	if c := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingReady); c != nil {
		b.Reason = c.Reason
	}
	for i := range seen.Nodes {
		if seen.Nodes[i].Name == binding.VirtualNodeName() {
			b.Node = nodeOf(&seen.Nodes[i])
		}
	}
	for i := range seen.Offloadings {
		offloading := &seen.Offloadings[i]
		for _, remote := range offloading.Status.RemoteNamespaceConditions {
			if remote.Cluster != b.ClusterID || !relevant(remote.Conditions) {
				continue
			}
			namespace := Namespace{Name: offloading.Namespace, Remote: remote.RemoteNamespace}
			if c := meta.FindStatusCondition(remote.Conditions, v1alpha1.RemoteNamespaceReady); c != nil {
				namespace.Ready = c.Status == metav1.ConditionTrue
				if !namespace.Ready {
					namespace.Waits = []Wait{{Reason: c.Reason, Message: c.Message}}
				}
			}
			b.Namespaces = append(b.Namespaces, namespace)
		}
	}
	b.place(seen)
	return b
}

// relevant reports whether a remote namespace is asked for, or is still there.
func relevant(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(conditions, v1alpha1.RemoteNamespaceRequired) || meta.FindStatusCondition(conditions, v1alpha1.RemoteNamespaceReady) != nil
}

// place puts the pods on the node of the binding into their namespaces.
func (b *Binding) place(seen Seen) {
	for i := range seen.Pods {
		pod := &seen.Pods[i]
		if pod.Spec.NodeName != v1alpha1.VirtualNodePrefix+b.ClusterID {
			continue
		}
		at := slices.IndexFunc(b.Namespaces, func(n Namespace) bool { return n.Name == pod.Namespace })
		if at < 0 {
			b.Namespaces = append(b.Namespaces, Namespace{Name: pod.Namespace, Remote: pod.Annotations[v1alpha1.AnnotationRemoteNamespace], Ready: true})
			at = len(b.Namespaces) - 1
		}
		b.Namespaces[at].Pods = append(b.Namespaces[at].Pods, podOf(pod))
	}
	slices.SortFunc(b.Namespaces, func(a, b Namespace) int { return cmp.Compare(a.Name, b.Name) })
}

func nodeOf(node *corev1.Node) *Node {
	n := &Node{Name: node.Name, Unschedulable: node.Spec.Unschedulable, Offers: map[string]string{}}
	for _, c := range node.Status.Conditions {
		n.Ready = n.Ready || c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		if quantity, ok := node.Status.Allocatable[name]; ok {
			n.Offers[string(name)] = quantity.String()
		}
	}
	return n
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func podOf(pod *corev1.Pod) Pod {
	p := Pod{Name: pod.Name, Phase: cmp.Or(string(pod.Status.Phase), string(corev1.PodPending))}
	p.Waits = WaitsOf(pod)
	p.Runs = pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodRunning && len(p.Waits) == 0
	return p
}

// WaitsOf says what a pod waits for, and what is wrong with it, the cause first.
func WaitsOf(pod *corev1.Pod) []Wait {
	var waits []Wait
	for _, c := range pod.Status.Conditions {
		if string(c.Type) == v1alpha1.PodOffloaded && c.Status != corev1.ConditionTrue {
			waits = append(waits, Wait{Type: string(c.Type), Reason: c.Reason, Message: c.Message})
		}
	}
	if pod.DeletionTimestamp != nil {
		waits = append(waits, Wait{Reason: "Deleting", Message: "it is being deleted"})
	}
	if pod.Status.Phase == corev1.PodFailed {
		return append(waits, Wait{Reason: cmp.Or(pod.Status.Reason, "Failed"), Message: pod.Status.Message})
	}
	if ended(pod) {
		return waits
	}
	if why := install.Wait(pod); why != "" {
		reason, message, _ := strings.Cut(why, ": ")
		waits = append(waits, Wait{Reason: reason, Message: message})
	}
	if len(waits) == 0 && pod.Status.Phase != corev1.PodRunning {
		waits = append(waits, Wait{Reason: "Starting", Message: "its containers are being started"})
	}
	if len(waits) == 0 {
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse {
				waits = append(waits, Wait{Reason: cmp.Or(c.Reason, "NotReady"), Message: c.Message})
			}
		}
	}
	return waits
}

// Text draws the tree. Pods that run are counted, unless all is set.
func Text(s Status, all bool) string {
	var b strings.Builder
	switch {
	case s.Manager.Outside != "":
		fmt.Fprintln(&b, "manager: available, outside of this cluster, as "+s.Manager.Outside)
	case s.Manager.Available:
		fmt.Fprintln(&b, "manager: available")
	default:
		fmt.Fprintln(&b, "manager: not available: "+s.Manager.Message)
	}
	if len(s.Bindings) == 0 {
		fmt.Fprintln(&b, "no provider is bound: kubectl spillway bind NAME --provider-context CONTEXT")
	}
	for _, binding := range s.Bindings {
		branch := line(&b, fmt.Sprintf("%s: %s", binding.Name, strings.Join(nonEmpty(state(binding.Ready, binding.Reason), binding.Version), ", ")))
		for _, wait := range binding.Waits {
			branch.add(wait.String())
		}
		if n := binding.Node; n != nil {
			branch.add("node " + n.Name + ": " + strings.Join(nonEmpty(state(n.Ready, "NotReady"), cordoned(n), offers(n)), ", "))
		}
		for _, namespace := range binding.Namespaces {
			namespace.draw(branch, all)
		}
		branch.end()
	}
	if len(s.Unplaced) > 0 {
		branch := line(&b, "waiting in this cluster:")
		for _, namespace := range s.Unplaced {
			namespace.draw(branch, all)
		}
		branch.end()
	}
	for _, hidden := range s.Hidden {
		fmt.Fprintf(&b, "you may not read %s, so these are not shown\n", hidden)
	}
	return b.String()
}

func state(ready bool, reason string) string {
	if ready {
		return "Ready"
	}
	return cmp.Or(reason, "not Ready")
}

func cordoned(n *Node) string {
	if n.Unschedulable {
		return "cordoned"
	}
	return ""
}

func offers(n *Node) string {
	var parts []string
	for _, name := range []string{"cpu", "memory", "pods"} {
		if quantity := n.Offers[name]; quantity != "" {
			parts = append(parts, quantity+" "+name)
		}
	}
	return strings.Join(parts, ", ")
}

func nonEmpty(all ...string) []string {
	return slices.DeleteFunc(all, func(one string) bool { return one == "" })
}

func (n Namespace) draw(in *branch, all bool) {
	title, running := "namespace "+n.Name, 0
	if n.Remote != "" {
		title += ", there " + n.Remote
	}
	for _, pod := range n.Pods {
		if pod.Runs {
			running++
		}
	}
	if len(n.Pods) > 0 {
		title += fmt.Sprintf(": %d of %d pods run, or have ended well", running, len(n.Pods))
	}
	sub := in.add(title)
	for _, wait := range n.Waits {
		sub.add(wait.String())
	}
	for _, pod := range n.Pods {
		if pod.Runs && !all {
			continue
		}
		text := "pod " + pod.Name + ": " + pod.Phase
		for _, wait := range pod.Waits {
			text += "; " + wait.String()
		}
		sub.add(text)
	}
}
