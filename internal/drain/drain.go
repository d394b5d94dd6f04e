// Package drain decides, without any I/O, the next step of the ordered deletion
// of a ClusterBinding:
//
//	cordon → evict the pods → remote namespaces gone → NamespaceMap → Node and Lease → finalizer
//
// Each step is read off what is there, not remembered: a manager that starts
// in the middle goes on where the last one stopped.
package drain

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// Snapshot is what Decide looks at.
type Snapshot struct {
	Binding *v1alpha1.ClusterBinding
	// Duplicate is set for a ClusterBinding that does not hold its clusterID:
	// the node and the remote namespaces are those of another one.
	Duplicate bool
	// NodeExists and NodeCordoned tell of the virtual node, if it is ours.
	NodeExists, NodeCordoned bool
	// PodsLeft counts the pods that are on the virtual node.
	PodsLeft int
	// NamespaceMap is the one of the binding, or nil.
	NamespaceMap *v1alpha1.NamespaceMap
	// Connected tells whether the provider answers; Unreachable why not.
	Connected   bool
	Unreachable string
	Now         time.Time
}

// Action is what to do next; each is safe to repeat.
type Action string

// The actions, in their order.
const (
	// Wait for somebody else: other controllers, or the provider.
	Wait Action = "Wait"
	// Cordon the virtual node.
	Cordon Action = "Cordon"
	// DeleteNamespaceMap deletes it.
	DeleteNamespaceMap Action = "DeleteNamespaceMap"
	// DeleteNode ends the connection, then deletes the node and its lease.
	DeleteNode Action = "DeleteNode"
	// RemoveFinalizer lets the ClusterBinding go.
	RemoveFinalizer Action = "RemoveFinalizer"
)

// Plan is the next step.
type Plan struct {
	Action Action
	// Drained is the condition that names the step.
	Drained metav1.Condition
	// RetryAfter is when a time-out changes the decision; zero: never.
	RetryAfter time.Duration
	// LeftBehind names the remote namespaces that are given up, if any.
	LeftBehind []string
}

// Decide names the next step.
func Decide(s Snapshot) Plan {
	switch {
	case s.Duplicate:
		return step(RemoveFinalizer, v1alpha1.ReasonDrained, "the ClusterBinding did not hold its clusterID, so nothing was made for it")
	case s.Binding.Spec.Paused:
		return step(Wait, v1alpha1.ReasonPaused, "spec.paused is set: the deletion goes on when it is not")
	case s.NodeExists && !s.NodeCordoned:
		return step(Cordon, v1alpha1.ReasonCordoning, "the virtual node is made unschedulable")
	case s.PodsLeft > 0:
		return step(Wait, v1alpha1.ReasonEvictingPods, fmt.Sprintf("%d pods are being evicted from the virtual node", s.PodsLeft))
	case s.NamespaceMap != nil:
		return s.namespaces()
	case s.NodeExists:
		return step(DeleteNode, v1alpha1.ReasonDeletingNode, "the virtual node and its lease are deleted")
	default:
		return step(RemoveFinalizer, v1alpha1.ReasonDrained, "nothing is left")
	}
}

// namespaces waits for the remote namespaces to go, then deletes the map.
func (s Snapshot) namespaces() Plan {
	deleteMap := step(DeleteNamespaceMap, v1alpha1.ReasonDeletingNamespaceMap, "the NamespaceMap is deleted")
	nsm := s.NamespaceMap
	left := s.remoteNamespaces()
	if s.Binding.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan {
		deleteMap.LeftBehind = left
		return deleteMap
	}
	emptied := len(left) == 0 && nsm.Status.ObservedGeneration == nsm.Generation
	// A map that was never looked at while the provider could be used: nothing was created.
	untouched := nsm.Status.ObservedGeneration == 0 && !s.Connected
	if emptied || untouched || s.Binding.Status.RemoteClusterUID == "" {
		return deleteMap
	}
	if s.Connected {
		return step(Wait, v1alpha1.ReasonDeletingNamespaces,
			fmt.Sprintf("%d remote namespaces are being deleted%s", len(left), listed(left)))
	}
	wait := step(Wait, v1alpha1.ReasonProviderUnreachable, fmt.Sprintf(
		"the deletion waits for the provider, to delete %d remote namespaces%s there: %s", len(left), listed(left), s.Unreachable))
	if timeout := s.Binding.Spec.Unreachable.DeletionTimeout; timeout != nil {
		wait.RetryAfter = s.Binding.DeletionTimestamp.Add(timeout.Duration).Sub(s.Now)
		if wait.RetryAfter <= 0 {
			deleteMap.LeftBehind = left
			return deleteMap
		}
	}
	return wait
}

// remoteNamespaces are those that are there, or may be.
func (s Snapshot) remoteNamespaces() []string {
	var names []string
	seen := map[string]bool{}
	for _, entry := range s.NamespaceMap.Status.CurrentMapping {
		if entry.Phase != v1alpha1.MappingCreationLoopBackOff {
			names, seen[entry.Namespace] = append(names, entry.RemoteNamespace), true
		}
	}
	for _, entry := range s.NamespaceMap.Spec.DesiredMapping {
		if !seen[entry.Namespace] {
			names = append(names, entry.RemoteNamespace)
		}
	}
	return names
}

func step(action Action, reason, message string) Plan {
	status := metav1.ConditionFalse
	if reason == v1alpha1.ReasonDrained {
		status = metav1.ConditionTrue
	}
	return Plan{Action: action, Drained: conditions.New(v1alpha1.BindingDrained, status, reason, message)}
}

// listed names the first few.
func listed(names []string) string {
	const most = 5
	switch {
	case len(names) == 0:
		return ""
	case len(names) > most:
		return fmt.Sprintf(" (%s, and %d more)", strings.Join(names[:most], ", "), len(names)-most)
	default:
		return " (" + strings.Join(names, ", ") + ")"
	}
}
