package status

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/internal/field"
)

const (
	// reasonReadinessGates is the reason that a kubelet sets while a readiness gate is closed.
	reasonReadinessGates = "ReadinessGatesNotReady"
	// RemoteTerminating is the reason why a pod is not Ready while the provider deletes its remote pod.
	RemoteTerminating = "RemotePodTerminating"
)

// remoteConditions are the types of conditions that come from the provider. All others are local, and
// stay.
var remoteConditions = [...]corev1.PodConditionType{
	corev1.PodReadyToStartContainers,
	corev1.PodInitialized,
	corev1.ContainersReady,
	corev1.PodReady,
	corev1.DisruptionTarget,
	corev1.PodResizePending,
	corev1.PodResizeInProgress,
}

// conditions returns the local conditions in their order, then new ones. Types in remoteConditions get
// remote's values.
func conditions(local, remote *corev1.Pod, now metav1.Time, ahead time.Duration) []corev1.PodCondition {
	all := make([]corev1.PodCondition, 0, len(local.Status.Conditions)+len(remoteConditions))
	var done [len(remoteConditions)]bool
	for i := range local.Status.Conditions {
		c := &local.Status.Conditions[i]
		n := slices.Index(remoteConditions[:], c.Type)
		if n < 0 {
			all = append(all, *c)
			continue
		}
		if done[n] {
			continue
		}
		done[n] = true
		if condition, there := remoteCondition(local, remote, c.Type, now, ahead); there {
			all = append(all, condition)
		} else if c.Type == corev1.DisruptionTarget {
			// The consumer disrupts pods, too, and the provider does not know that.
			all = append(all, *c)
		}
	}
	for n, kind := range remoteConditions {
		if done[n] {
			continue
		}
		if condition, there := remoteCondition(local, remote, kind, now, ahead); there {
			all = append(all, condition)
		}
	}
	return all
}

// remoteCondition returns a condition of remote for local. It keeps local's observed generation,
// because the provider's is about another object.
func remoteCondition(local, remote *corev1.Pod, kind corev1.PodConditionType, now metav1.Time, ahead time.Duration) (corev1.PodCondition, bool) {
	from := find(remote.Status.Conditions, kind)
	if from == nil || !field.IsStatus(from.Status) {
		return corev1.PodCondition{}, false
	}
	c := corev1.PodCondition{
		Type:               kind,
		Status:             from.Status,
		LastProbeTime:      from.LastProbeTime,
		LastTransitionTime: field.SaneTime(from.LastTransitionTime),
		Reason:             field.Bounded(from.Reason, field.MaxReason),
		Message:            field.Bounded(from.Message, field.MaxMessage),
	}
	was := find(local.Status.Conditions, kind)
	if was != nil {
		c.ObservedGeneration = was.ObservedGeneration
	}
	if kind == corev1.PodReady && len(local.Spec.ReadinessGates) > 0 {
		applyReadinessGates(&c, local, was)
	}
	told := was != nil && was.Reason == RemoteTerminating // Then it stays so even while local is deleted.
	if kind == corev1.PodReady && c.Status == corev1.ConditionTrue && (local.DeletionTimestamp.IsZero() || told) && !remote.DeletionTimestamp.IsZero() {
		endReadiness(&c, remote)
	}
	var probed, since metav1.Time
	if was != nil && was.Status == c.Status {
		probed, since = was.LastProbeTime, was.LastTransitionTime
	}
	c.LastProbeTime, c.LastTransitionTime = field.ReportedTime(c.LastProbeTime, probed, now), field.TransitionTime(c.LastTransitionTime, since, now, ahead)
	return c, true
}

// endReadiness sets Ready to False for a pod that the provider is deleting, for example because it
// drains the node. In the provider, the deletion timestamp says so, but the local pod has none.
// Services in the consumer would still send traffic to it, and PodDisruptionBudgets would count it.
func endReadiness(ready *corev1.PodCondition, remote *corev1.Pod) {
	ready.Status, ready.Reason, ready.Message = corev1.ConditionFalse, RemoteTerminating, "the provider is deleting the remote pod"
	grace := time.Duration(ptr.Deref(remote.DeletionGracePeriodSeconds, 0)) * time.Second
	ready.LastTransitionTime = metav1.NewTime(remote.DeletionTimestamp.Add(-grace))
}

// applyReadinessGates applies the readiness gates of local to ready, as a kubelet does: Ready is False while a gate
// is closed. ready comes from the remote pod, which has no gates. Its last transition time becomes the latest of
// the times of the remote Ready and of the gates. While Ready does not change, it keeps the time of was, unless the
// remote pod's time is later.
func applyReadinessGates(ready *corev1.PodCondition, local *corev1.Pod, was *corev1.PodCondition) {
	var closed []string
	theirs := ready.LastTransitionTime
	for _, gate := range local.Spec.ReadinessGates {
		c := find(local.Status.Conditions, gate.ConditionType)
		if c == nil {
			closed = append(closed, fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", string(gate.ConditionType)))
			continue
		}
		if c.Status != corev1.ConditionTrue {
			closed = append(closed, fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", string(gate.ConditionType), c.Status))
		}
		ready.LastTransitionTime = later(ready.LastTransitionTime, c.LastTransitionTime)
	}
	if ready.Status == corev1.ConditionTrue && len(closed) > 0 {
		ready.Status, ready.Reason = corev1.ConditionFalse, reasonReadinessGates
		ready.Message = field.Bounded(strings.Join(closed, ", "), field.MaxMessage)
	}
	if was != nil && was.Status == ready.Status {
		ready.LastTransitionTime = was.LastTransitionTime
		if ready.Status == corev1.ConditionTrue {
			ready.LastTransitionTime = later(was.LastTransitionTime, theirs)
		}
	}
}

func later(a, b metav1.Time) metav1.Time {
	if a.Before(&b) {
		return b
	}
	return a
}

func find(conditions []corev1.PodCondition, kind corev1.PodConditionType) *corev1.PodCondition {
	return field.First(conditions, func(c *corev1.PodCondition) bool { return c.Type == kind })
}
