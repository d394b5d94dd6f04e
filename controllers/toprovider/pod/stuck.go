package pod

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// mostSaid is the most characters of a provider's scheduler that a condition repeats.
const mostSaid = 512

// unplaced returns why a pod that is in the provider does not start there: the provider's scheduler finds no node for
// it, perhaps because the pod is too big for each. It is nil if that is not so, or has not lasted long enough to be worth
// a write; then wait is how long until it has. A pod that no node ever has room for does not wait. The message stays
// until it begins or ceases to be about lack of room, because the scheduler counts the nodes in it, and each change would
// take a write. The events of the pod have the latest.
func unplaced(s snapshot) (problem *field.Problem, wait time.Duration) {
	said := conditionOf(s.Remote, corev1.PodScheduled)
	if s.Remote.Spec.NodeName != "" || terminal(s.Local) || !isUnschedulable(said) {
		return nil, 0
	}
	found := noNodeFor(s, said.Message)
	going := !s.Local.DeletionTimestamp.IsZero() || !s.Remote.DeletionTimestamp.IsZero()
	if was := conditionOf(s.Local, v1alpha1.PodOffloaded); was != nil && isUnplaced(was.Reason) {
		if !going && isNews(&field.Problem{Reason: was.Reason, Message: was.Message}, &found) {
			return &found, 0
		}
		return &field.Problem{Reason: was.Reason, Message: was.Message}, 0
	}
	if going {
		return nil, 0
	}
	tooBig, ever := tooBig(s, said.Message)
	switch {
	case ever: // Then an autoscaler starts no node either, but the sizes say what to change.
		return tooBig, 0
	case found.Reason == v1alpha1.ReasonNoNewNode:
		return &found, 0
	}
	// A provider may report any time.
	if waited := s.Now.Add(s.ClockSkew).Sub(said.LastTransitionTime.Time); waited >= 0 && waited < Patience {
		return nil, Patience - waited
	}
	if tooBig != nil {
		return tooBig, 0
	}
	return &found, 0
}

// isNews reports whether a problem of a pod that has no node is worth a write after another one. That an autoscaler starts
// no node for a pod that is too big is none.
func isNews(was, found *field.Problem) bool {
	return found.Reason == v1alpha1.ReasonNoNewNode && was.Reason == v1alpha1.ReasonUnschedulable || lacksRoom(was.Reason, was.Message) != lacksRoom(found.Reason, found.Message)
}

// noneOfGroup is how the problem of a pod says that the provider has no node for such pods at all. Its scheduler may only
// say that other nodes do not match.
const noneOfGroup = "it has no node for such pods yet"

// noNodeFor returns the problem of a pod for which the provider's scheduler finds no node, and perhaps its autoscaler starts
// none.
func noNodeFor(s snapshot, said string) field.Problem {
	said = field.Bounded(said, mostSaid) + helpApart(s.Local, said)
	declined := ""
	if s.NewNode != nil {
		none := false
		if declined, none = s.NewNode(s.Remote, s.Groups[s.Local.Spec.NodeName]); none {
			said = noneOfGroup + "; " + said
		}
	}
	if declined != "" {
		return field.Problemf(v1alpha1.ReasonNoNewNode, "the autoscaler of provider %s starts no node for pod %s/%s: %s; its scheduler says: %s",
			s.ClusterID, s.Remote.Namespace, s.Remote.Name, declined, said)
	}
	return field.Problemf(v1alpha1.ReasonUnschedulable, "the scheduler of provider %s finds no node for pod %s/%s: %s", s.ClusterID, s.Remote.Namespace, s.Remote.Name, said)
}

// signsOfApart are how a scheduler words that a pod must be on another node, or in another zone, than some pods, or near to
// some.
var signsOfApart = []string{"anti-affinity rules", "pod affinity rules", "topology spread constraints"}

// IsApart reports whether what a provider's scheduler says is also about where the pod's siblings are.
func (s *Stuck) IsApart() bool {
	return slices.ContainsFunc(signsOfApart, func(sign string) bool { return strings.Contains(s.Message, sign) })
}

// helpApart says what helps a pod that what it requires of its place keeps off all nodes.
func helpApart(local *corev1.Pod, said string) string {
	if apart := (&Stuck{Problem: field.Problem{Message: said}}).IsApart(); !apart || softened(local) {
		return ""
	}
	return "; with fewer replicas, or more nodes or zones there, it runs; to prefer its affinity and topology spread instead of requiring them in providers, annotate it " +
		v1alpha1.AnnotationPlacement + "=" + v1alpha1.PlacementPreferred + " in its template"
}

func isUnschedulable(said *corev1.PodCondition) bool {
	return said != nil && said.Status == corev1.ConditionFalse && said.Reason == corev1.PodReasonUnschedulable
}

// tooBig returns the problem of a pod that is too big for each node of the provider now, or nil. It is so for ever if no
// node is large enough even when it is empty.
func tooBig(s snapshot, said string) (problem *field.Problem, ever bool) {
	if s.TooBig == nil {
		return nil, false
	}
	why, ever := s.TooBig(s.Remote)
	if why == "" {
		return nil, ever
	}
	found := field.Problemf(v1alpha1.ReasonTooBig, "pod %s/%s is too big for each node of provider %s that it may run on: %s; its scheduler says: %s",
		s.Remote.Namespace, s.Remote.Name, s.ClusterID, why, field.Bounded(said, mostSaid))
	return &found, ever
}

// Stuck is why a pod on a virtual node does not run, and since when.
type Stuck struct {
	field.Problem
	Since time.Time
}

// StuckOf reads from a pod on a virtual node that its provider refuses it, or cannot place it. It returns nil if the
// provider does neither: the pod runs, has ended, is being deleted, or waits for something else.
func StuckOf(local *corev1.Pod) *Stuck {
	c := conditionOf(local, v1alpha1.PodOffloaded)
	if c == nil || c.Status != corev1.ConditionFalse || !isStuck(c.Reason) || local.Status.Phase == corev1.PodRunning || terminal(local) || !local.DeletionTimestamp.IsZero() {
		return nil
	}
	if Sent(local) != isUnplaced(c.Reason) { // What is refused of a pod that was sent is a change of it.
		return nil
	}
	return &Stuck{field.Problem{Reason: c.Reason, Message: c.Message}, c.LastTransitionTime.Time}
}

// LacksRoom reports whether the provider says that it lacks room for the pod.
func (s *Stuck) LacksRoom() bool { return lacksRoom(s.Reason, s.Message) }

// Unplaced reports whether the pod is in the provider, whose scheduler finds no node for it.
func (s *Stuck) Unplaced() bool { return isUnplaced(s.Reason) }

// Declined reports whether the provider's autoscaler has said that it starts no node for the pod.
func (s *Stuck) Declined() bool { return s.Reason == v1alpha1.ReasonNoNewNode }

// signsOfNoRoom are how an API server and a scheduler word that, by the reason of PodOffloaded.
var signsOfNoRoom = map[string][]string{
	v1alpha1.ReasonRejected:      {"exceeded quota: "},
	v1alpha1.ReasonUnschedulable: noNode,
	v1alpha1.ReasonQuotaExceeded: {""},
	v1alpha1.ReasonTooBig:        noNode, // Other nodes of the provider do not help it, but another provider may.
	v1alpha1.ReasonNoNewNode:     noNode,
}

var noNode = []string{"Insufficient ", "Too many pods", "no nodes available", noneOfGroup}

func lacksRoom(reason, message string) bool {
	return slices.ContainsFunc(signsOfNoRoom[reason], func(sign string) bool { return strings.Contains(message, sign) })
}

// comesToLackRoom reports whether the provider refuses a pod for lack of room from now on, after another reason for which
// pods are not given up. A pod that is there and has no node counts from when its scheduler found none.
func comesToLackRoom(was *corev1.PodCondition, reason, message string) bool {
	return !isUnplaced(reason) && lacksRoom(reason, message) && !lacksRoom(was.Reason, was.Message)
}

// isStuck reports whether PodOffloaded has a reason of a pod that the provider refuses or cannot place, or that its
// quota there has no room for. Others are
// about the consumer, or about Spillway.
func isStuck(reason string) bool {
	return isUnplaced(reason) || slices.Contains([]string{v1alpha1.ReasonRejected, v1alpha1.ReasonServerError, v1alpha1.ReasonQuotaExceeded}, reason)
}

// isUnplaced reports whether PodOffloaded has a reason of a pod that is in the provider, and has no node there.
func isUnplaced(reason string) bool {
	return reason == v1alpha1.ReasonUnschedulable || reason == v1alpha1.ReasonTooBig || reason == v1alpha1.ReasonNoNewNode
}

func conditionOf(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	return field.First(pod.Status.Conditions, func(c *corev1.PodCondition) bool { return c.Type == kind })
}
