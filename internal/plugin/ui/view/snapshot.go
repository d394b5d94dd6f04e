// Package view says what the page of kubectl spillway ui shows. It is pure: objects go in, and what is shown comes out.
package view

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/plugin/explain"
	"github.com/spillway-io/spillway/internal/plugin/hosted"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// Objects are what the user may read. Nobody changes them.
type Objects struct {
	// Where names the consumer.
	Where string
	// Namespace is the only namespace that is read; empty for all.
	Namespace   string
	Bindings    []v1alpha1.ClusterBinding
	Nodes       []corev1.Node
	Offloadings []v1alpha1.NamespaceOffloading
	// Pods are all pods of the namespaces that are read.
	Pods []corev1.Pod
	// Events are warnings about pods, and Spillway's events about tiers.
	Events []corev1.Event
	Hosted []hosted.Page
	// Manager says whether the manager is available; nil if the user may not read that.
	Manager *status.Manager
	// Hidden has the names of kinds that the user may not read, as in package status.
	Hidden []string
	// Notes say what is missing on the page, and why.
	Notes []string
	Now   time.Time
}

// Snapshot is what the page shows at one time.
type Snapshot struct {
	Page Page
	// Rows are all pods, in the order of the list.
	Rows []Row
	// Places counts the pods that have not ended, by namespace and place.
	Places map[string]map[string]int

	objects     Objects
	index       placement.Index
	pods        map[types.NamespacedName]*corev1.Pod
	events      map[types.UID][]corev1.Event
	nodes       map[string]*corev1.Node
	offloadings map[string]*v1alpha1.NamespaceOffloading
	others      map[string][]*corev1.Node
}

// Of returns what the page shows of the objects.
func Of(o Objects) *Snapshot {
	s := &Snapshot{
		objects: o, index: placement.NewIndex(o.Bindings), pods: map[types.NamespacedName]*corev1.Pod{}, events: map[types.UID][]corev1.Event{},
		nodes: map[string]*corev1.Node{}, offloadings: map[string]*v1alpha1.NamespaceOffloading{},
	}
	for i := range o.Pods {
		s.pods[types.NamespacedName{Namespace: o.Pods[i].Namespace, Name: o.Pods[i].Name}] = &o.Pods[i]
	}
	for i := range o.Nodes {
		s.nodes[o.Nodes[i].Name] = &o.Nodes[i]
	}
	for i := range o.Offloadings {
		s.offloadings[o.Offloadings[i].Namespace] = &o.Offloadings[i]
	}
	// As the command explain reads them: the latest last.
	events := slices.SortedFunc(slices.Values(o.Events), func(a, b corev1.Event) int { return status.When(&a).Compare(status.When(&b)) })
	var told []corev1.Event
	for _, event := range events {
		s.events[event.InvolvedObject.UID] = append(s.events[event.InvolvedObject.UID], event)
		if status.Ours(&event) && status.Warns(&event) {
			told = append(told, event)
		}
	}
	s.others = s.answering()
	seen := status.Seen{
		Namespace: o.Namespace, Bindings: o.Bindings, Nodes: o.Nodes, Offloadings: o.Offloadings, Events: told,
		Hidden: append(slices.Clone(o.Hidden), status.ManagerParts),
	}
	seen.Sort(o.Pods)
	s.draw(seen)
	return s
}

// answering returns the virtual nodes of the providers that answer; nil if they are not known.
func (s *Snapshot) answering() map[string][]*corev1.Node {
	if len(s.index.Usable()) == 0 || slices.Contains(s.objects.Hidden, status.Nodes) {
		return nil
	}
	nodes := map[string][]*corev1.Node{}
	for _, binding := range s.index.Usable() {
		if !namespaceoffloading.Answers(binding) {
			continue
		}
		for i := range s.objects.Nodes {
			if node := &s.objects.Nodes[i]; node.Labels[v1alpha1.LabelCluster] == binding.Spec.ClusterID {
				nodes[binding.Spec.ClusterID] = append(nodes[binding.Spec.ClusterID], node)
			}
		}
	}
	return nodes
}

// explain explains a pod in the words of the command explain. Claims, and events of other kinds, are not known here.
func (s *Snapshot) explain(pod *corev1.Pod) explain.Explanation {
	seen := explain.Seen{
		Pod: pod, Offloading: s.offloadings[pod.Namespace], Hidden: slices.Contains(s.objects.Hidden, status.Offloadings),
		Node: s.nodes[pod.Spec.NodeName], Bindings: s.index, HiddenBindings: slices.Contains(s.objects.Hidden, status.Bindings),
		Events: s.events[pod.UID], Nodes: s.others, Now: s.objects.Now,
	}
	for i := range s.objects.Bindings {
		if v1alpha1.SameProvider(pod.Spec.NodeName, s.objects.Bindings[i].VirtualNodeName()) {
			seen.Binding = &s.objects.Bindings[i]
		}
	}
	return explain.Explain(seen)
}

// Version identifies what is known about a pod; empty if the pod does not exist.
func (s *Snapshot) Version(namespace, name string) string {
	pod := s.pods[types.NamespacedName{Namespace: namespace, Name: name}]
	if pod == nil {
		return ""
	}
	versions := []string{pod.ResourceVersion}
	for _, event := range s.events[pod.UID] {
		versions = append(versions, event.ResourceVersion)
	}
	if nso := s.offloadings[namespace]; nso != nil {
		versions = append(versions, nso.ResourceVersion)
	}
	return strings.Join(versions, ".")
}

// At is when the objects were read.
func (s *Snapshot) At() time.Time { return s.objects.Now }
