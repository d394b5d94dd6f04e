package status

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/placement"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/plugin/tiers"
)

// The names in Hidden.
const (
	Bindings     = "ClusterBindings"
	Pods         = "Pods"
	Offloadings  = "NamespaceOffloadings"
	Nodes        = "Nodes"
	Events       = "Events"
	ManagerParts = "the Deployment, Pods and Lease of the manager"
)

// Seen is what the consumer's API server shows. A list that the user may not read is empty, and in Hidden.
type Seen struct {
	// Namespace is the only namespace that was read; empty for all.
	Namespace   string
	Bindings    []v1alpha1.ClusterBinding
	Nodes       []corev1.Node
	Offloadings []v1alpha1.NamespaceOffloading
	// Pods are the pods on virtual nodes, and those without a node that may get a virtual one.
	Pods []corev1.Pod
	// Local are pods of offloaded namespaces on nodes that are not virtual.
	Local []corev1.Pod
	// Events are Spillway's warnings about pods without a node.
	Events []corev1.Event
	// Objects is what Spillway says about objects other than pods.
	Objects []Object
	Hidden  []string
	// Available says whether the manager is available, and Waits why it is not. Outside is the manager's
	// identity if it runs outside of this cluster.
	Available      bool
	Waits, Outside string
}

// Hides reports whether the user may not read something.
func (s *Seen) Hides(name string) bool { return slices.Contains(s.Hidden, name) }

// eventsOf returns the events about a pod.
func (s *Seen) eventsOf(pod *corev1.Pod) []corev1.Event {
	var about []corev1.Event
	for i := range s.Events {
		if s.Events[i].InvolvedObject.UID == pod.UID {
			about = append(about, s.Events[i])
		}
	}
	return about
}

// podOf says how far a pod is, and which tiers were tried for it.
func (s *Seen) podOf(pod *corev1.Pod, events ...corev1.Event) Pod {
	p := PodOf(pod, events...)
	for i := range s.Offloadings {
		if nso := &s.Offloadings[i]; nso.Namespace == pod.Namespace {
			if tried := tiers.Tried(pod, nso, events, time.Time{}); tiers.Short(tried) != "" {
				p.Tiers = tried
			}
		}
	}
	return p
}

// Strands reports whether a pod waits for ever, because its namespace is not offloaded.
func (s *Seen) Strands(pod *corev1.Pod) bool {
	return !s.Hides(Offloadings) && unscheduledpod.Strands(pod, placement.NewIndex(s.Bindings)) &&
		!slices.ContainsFunc(s.Offloadings, func(o v1alpha1.NamespaceOffloading) bool { return o.Namespace == pod.Namespace })
}

// UnlessMounted returns the end of a message about such a pod, for users who may not read ClusterBindings.
func UnlessMounted(hidden bool) string {
	if !hidden {
		return ""
	}
	return ", unless a provider has a mountNamespace"
}
