// Package stuckpod decides, without any I/O, what happens to a pod on a virtual node that its provider refuses, or
// that the provider's scheduler cannot place, for lack of room. In a namespace with spec.overflow and
// spec.unschedulable it is deleted, so that its controller creates another one, which goes elsewhere. The provider is
// left out for such pods for a while.
package stuckpod

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/internal/decide/elastic"
	"github.com/spillway-io/spillway/internal/decide/namespaceoffloading"
	"github.com/spillway-io/spillway/internal/decide/nodes"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/decide/successor"
	"github.com/spillway-io/spillway/internal/decide/unscheduledpod"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/retry"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	// Pod is on the virtual node of the Binding.
	Pod     *corev1.Pod
	Binding *v1alpha1.ClusterBinding
	// Group are the labels of that virtual node, as far as groupBy says them. They count only if the provider can grow.
	Group field.Group
	// Offloading is of the pod's namespace, or nil.
	Offloading *v1alpha1.NamespaceOffloading
	// Nodes are the virtual nodes of the providers that answer, by clusterID. Due needs none.
	Nodes map[string][]*corev1.Node
	// Seen is when this process first saw that the provider refuses the pod.
	Seen, Now time.Time
	// Early reports that this process has seen that before the pod was due: then it is news that it is.
	Early bool
}

// Plan is what to do.
type Plan struct {
	// Status is the status to write, or nil. The rest waits until the cache shows it.
	Status *v1alpha1.NamespaceOffloadingStatus
	// Reason and Message are of an event about the pod; empty if there is nothing to report.
	Reason, Message string
	// Delete reports that the pod is deleted then.
	Delete bool
	// RecheckAfter is how long until the next decision if nothing changes before; 0: never.
	RecheckAfter time.Duration
}

// Due reports whether there is something to decide about the pod now. If not, wait is how long until there may be; 0:
// never, unless something changes.
func Due(s Snapshot) (due bool, wait time.Duration) {
	stuck := pod.StuckOf(s.Pod)
	switch {
	case !concerns(s):
		return false, 0
	case stuck == nil:
		return s.Pod.Status.Phase == corev1.PodRunning && len(s.Offloading.Status.Full) > 0, 0
	}
	wait = s.state(stuck).Due(After(s.Offloading), s.Now)
	return wait == 0, wait
}

// Early reports whether the provider refuses the pod, and it is not due because too little time has passed, or because its
// namespace does not ask for that. While the provider is away, it is unknown whether the pod is due.
func Early(s Snapshot) bool {
	stuck := pod.StuckOf(s.Pod)
	if stuck == nil || s.Offloading == nil {
		return false
	}
	return !s.Offloading.Spec.ReplacesUnschedulable() || s.state(stuck).Due(After(s.Offloading), s.Now) > 0
}

// concerns reports whether anything is decided about the pods of a namespace in a provider. While the provider is away,
// nobody knows how they are. A status about an earlier spec may list providers that are in no tier any more.
func concerns(s Snapshot) bool {
	nso := s.Offloading
	return nso != nil && nso.DeletionTimestamp.IsZero() && nso.Spec.ReplacesUnschedulable() && nso.Status.ObservedGeneration == nso.Generation &&
		namespaceoffloading.Answers(s.Binding) && slices.Contains(namespaceoffloading.InTiers(&nso.Status), s.Binding.Spec.ClusterID)
}

// state returns what is known about the pod. A beginning in the future is from another clock, or from before this clock
// was set back: then the time counts from when this process saw it.
func (s Snapshot) state(stuck *pod.Stuck) spill.Stuck {
	since := stuck.Since
	if since.After(s.Now) {
		since = s.Seen
	}
	return spill.Stuck{Since: since, Recreated: successor.Stays(s.Pod) == "", Claims: len(needs.Claims(s.Pod)) > 0, Growth: s.growth(stuck)}
}

// growth returns what is known about a new node of the provider for the pod. A pod that the provider refuses, by a quota
// perhaps, does not wait for a node.
func (s Snapshot) growth(stuck *pod.Stuck) spill.Growth {
	if s.Binding == nil || !stuck.Unplaced() {
		return spill.Growth{}
	}
	return spill.Growth{After: elastic.Patience(s.Binding.Spec.VirtualNode.Elastic, s.Group, s.Pod), Declined: stuck.Declined()}
}

// Decide decides about one pod that is due.
func Decide(s Snapshot) Plan {
	full, stuck, size := spill.Read(s.Offloading), pod.StuckOf(s.Pod), spill.SizeOf(s.Pod)
	namespace, id, after := s.Pod.Namespace, s.Binding.Spec.ClusterID, After(s.Offloading)
	if stuck == nil { // It runs. What it shows about the provider counts from when it was started there.
		if started := s.Pod.Status.StartTime; started != nil {
			full.Ran(id, namespace, size, started.Time)
		}
		return Plan{Status: changed(s, full)}
	}
	state := s.state(stuck)
	why := cmp.Or(successor.Stays(s.Pod), notRoom(stuck))
	var opens time.Duration // When it is looked at again.
	if why == "" {
		if state.Elsewhere, opens = elsewhere(s, id, full, size); !state.Elsewhere {
			why = nowhere
		}
	}
	// A pod that came although the provider was left out would be replaced by one that comes, too.
	if last, closed := full.Last(id, namespace, size, s.Now); why == "" && closed > 0 && s.Pod.CreationTimestamp.After(last) {
		why, opens = "it was created after provider "+id+" had refused others, and went there nevertheless", closed
	}
	since := stuck.Since.UTC().Format(time.RFC3339)
	if gives, _ := spill.GivesUp(state, after, s.Now); !gives || why != "" {
		plan := Plan{RecheckAfter: opens}
		if s.Early || state.IsNews(after, s.Now) {
			plan.Reason = v1alpha1.ReasonNotReplaced
			plan.Message = fmt.Sprintf("the pod has not started in provider %s since %s, but it is not replaced: %s", id, since, why)
		}
		return plan
	}
	full.Refused(id, namespace, size, spill.Why{Reason: stuck.Reason, Message: stuck.Message}, s.Now)
	_, closed := full.Open(id, namespace, size, s.Now)
	return Plan{Status: changed(s, full), Delete: true, Reason: v1alpha1.ReasonGivenUp,
		Message: fmt.Sprintf("the pod has not started in provider %s since %s, so it is deleted, and %s creates another one, which does not go to %s until %s: %s",
			id, since, owner(s.Pod), id, s.Now.Add(closed).UTC().Format(time.RFC3339), stuck.Message)}
}

// After returns how long a provider must have refused a pod.
func After(nso *v1alpha1.NamespaceOffloading) time.Duration {
	if u := nso.Spec.Unschedulable; u != nil && u.After != nil {
		return u.After.Duration
	}
	return spill.DefaultUnschedulableAfter
}

// elsewhere reports whether another place than that provider may take the pod. If not, opens is how long until one may; 0: unknown.
func elsewhere(s Snapshot, than string, full *spill.Full, size spill.Size) (may bool, opens time.Duration) {
	if s.Offloading.Spec.Overflow[0].Local && len(s.Pod.Spec.NodeSelector) == 0 && !unscheduledpod.OnlyVirtual(s.Pod) {
		return true, 0
	}
	required, tolerated := nodeaffinity.GetRequiredNodeAffinity(s.Pod), nodes.Matched(s.Pod.Spec.Tolerations)
	for _, id := range namespaceoffloading.InTiers(&s.Offloading.Status) {
		if id == than || !slices.ContainsFunc(s.Nodes[id], func(node *corev1.Node) bool {
			matches, err := required.Match(node)
			return matches && err == nil && !node.Spec.Unschedulable && len(nodes.Repelling(node, tolerated)) == 0
		}) {
			continue
		}
		open, wait := full.Open(id, s.Pod.Namespace, size, s.Now)
		if open {
			return true, 0
		}
		opens = retry.Sooner(opens, wait)
	}
	return false, opens
}

// changed returns the status with what is known about full providers, or nil if it is the same.
func changed(s Snapshot, full *spill.Full) *v1alpha1.NamespaceOffloadingStatus {
	status := s.Offloading.Status.DeepCopy()
	namespaceoffloading.SetFull(status, s.Offloading, full, s.Now)
	if equality.Semantic.DeepEqual(status, &s.Offloading.Status) {
		return nil
	}
	return status
}

func owner(of *corev1.Pod) string {
	controller := metav1.GetControllerOfNoCopy(of)
	return controller.Kind + " " + controller.Name
}
