package pod

import (
	"bytes"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
)

// terminal reports whether a pod has ended. That is final.
func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// report says on the pod why it is not in the provider, once the problem has lasted long enough.
func report(s snapshot, problem field.Problem, patience time.Duration) decide.Plan {
	plan := decide.Plan{Problem: &problem}
	waited := s.Waiting
	if s.WaitingFor != problem.Reason {
		waited = 0 // That was the time of another problem.
	}
	if waited < patience {
		plan.RetryAfter = patience - waited
		return plan
	}
	status := *s.Local.Status.DeepCopy()
	setOffloaded(&status, &problem, s.Local.Generation, s.Now)
	plan.Actions = patchStatus(s, status, nil)
	if len(plan.Actions) > 0 {
		plan.Event = &problem
	}
	return plan
}

// Sent reports whether a pod was started in its provider, according to its own annotations.
func Sent(local *corev1.Pod) bool { return recorded(local) != nil }

// ProviderAwayStatus returns the status of a pod that has not been sent and whose provider is away. It returns nil
// if there is nothing to report: the pod was sent, would never be sent, already says so, or has ended.
func ProviderAwayStatus(local *corev1.Pod, problem field.Problem, now time.Time) *corev1.PodStatus {
	if terminal(local) || !local.DeletionTimestamp.IsZero() || Sent(local) || accept.NeverSent(local) != nil || hasMessage(local, problem.Message) {
		return nil
	}
	status := local.Status.DeepCopy()
	setOffloaded(status, &problem, local.Generation, now)
	return status
}

// setOffloaded sets the condition PodOffloaded if there is a problem, and corrects it afterwards. A pod that
// never had a problem needs no condition. Notes about a pod that is in the provider have the reason
// Offloaded. setOffloaded copies the conditions first, because they may be shared with the cache.
func setOffloaded(status *corev1.PodStatus, problem *field.Problem, generation int64, now time.Time) {
	for i := range status.Conditions {
		if status.Conditions[i].Type == v1alpha1.PodOffloaded {
			status.Conditions = slices.Clone(status.Conditions)
			set(&status.Conditions[i], problem, generation, now)
			return
		}
	}
	if problem != nil {
		condition := corev1.PodCondition{Type: v1alpha1.PodOffloaded}
		set(&condition, problem, generation, now)
		status.Conditions = append(slices.Clone(status.Conditions), condition)
	}
}

func set(condition *corev1.PodCondition, problem *field.Problem, generation int64, now time.Time) {
	status, reason, message := corev1.ConditionTrue, v1alpha1.ReasonOffloaded, ""
	if problem != nil {
		reason, message = problem.Reason, problem.Message
	}
	if reason != v1alpha1.ReasonOffloaded {
		status = corev1.ConditionFalse
	}
	if condition.Status == status && condition.Reason == reason && condition.Message == message {
		return
	}
	if condition.Status != status || isStuck(reason) && (!isStuck(condition.Reason) || comesToLackRoom(condition, reason, message)) { // It is read since when the provider refuses a pod.
		condition.LastTransitionTime = metav1.NewTime(now)
	}
	condition.Status, condition.Reason, condition.Message, condition.ObservedGeneration = status, reason, message, generation
}

// hasMessage reports whether the condition PodOffloaded has that message.
func hasMessage(pod *corev1.Pod, message string) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == v1alpha1.PodOffloaded && c.Message == message
	})
}

// patchStatus returns the action that writes a status if it differs. It also writes if the remote address for
// users has changed, because the status of a pod without routing does not have that address.
func patchStatus(s snapshot, status corev1.PodStatus, annotations map[string]string) []decide.Action {
	ip, told := annotations[v1alpha1.AnnotationRemoteIP]
	told = told && !terminal(s.Local) && s.Local.Annotations[v1alpha1.AnnotationRemoteIP] != ip
	if !told && unchanged(s.Local, status) {
		return nil
	}
	return []decide.Action{statusPatch(s.Local, status, annotations)}
}

// unchanged reports whether there is nothing to write. An observed generation alone is written only if the
// API server is known to keep it. An API server without the feature drops it each time.
func unchanged(local *corev1.Pod, status corev1.PodStatus) bool {
	was := local.Status
	if was.ObservedGeneration == 0 {
		was.ObservedGeneration, was.Conditions = status.ObservedGeneration, slices.Clone(was.Conditions)
		for i := range min(len(was.Conditions), len(status.Conditions)) {
			was.Conditions[i].ObservedGeneration = status.Conditions[i].ObservedGeneration
		}
	}
	return isSame(&was, &status) || equality.Semantic.DeepEqual(was, status)
}

// isSame reports whether two statuses have the same encoding. It is much cheaper than a semantic comparison, which
// also finds quantities equal that are written differently.
func isSame(a, b *corev1.PodStatus) bool {
	if a.Size() != b.Size() {
		return false
	}
	first, err1 := a.Marshal()
	second, err2 := b.Marshal()
	return err1 == nil && err2 == nil && bytes.Equal(first, second)
}

// statusPatch returns an action that writes a status together with annotations in one request. Both pods of
// the patch have only the fields that it is about. Like a kubelet's patch, it is locked to the UID and not to
// a version (ADR 76), because others write conditions too. It is paced, unless the pod's phase changes. If
// the start or the end of a pod were reported late, a pod that is gone from the provider by then would be
// reported as lost.
func statusPatch(local *corev1.Pod, status corev1.PodStatus, annotations map[string]string) decide.Action {
	before := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: local.Namespace, Name: local.Name, UID: local.UID, ResourceVersion: local.ResourceVersion,
			Annotations: local.Annotations,
		},
		Status: local.Status,
	}
	after := &corev1.Pod{ObjectMeta: before.ObjectMeta, Status: status} // Nothing changes what they share.
	if len(annotations) > 0 {
		all := maps.Clone(local.Annotations)
		if all == nil {
			all = map[string]string{}
		}
		maps.Copy(all, annotations)
		maps.DeleteFunc(all, func(key, value string) bool { return key == v1alpha1.AnnotationRemoteIP && value == "" })
		after.Annotations = all
	}
	return decide.Action{
		Verb: decide.PatchStatus, Side: decide.Local, Object: after, Before: before,
		Paced: local.Status.Phase == status.Phase, // A phase never goes back, so there are few changes.
	}
}
