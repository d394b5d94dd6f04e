package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/plugin/install"
	"github.com/spillway-io/spillway/internal/plugin/tiers"
)

// Pod is a pod on a virtual node, or a pod without a node.
type Pod struct {
	Name  string `json:"name"`
	Phase string `json:"phase"`
	// Runs is true for a pod that is ready, or has succeeded.
	Runs bool `json:"runs"`
	// WithoutToken says that the pod runs in a provider without the token that it would have here.
	WithoutToken bool   `json:"withoutToken,omitempty"`
	Waits        []Wait `json:"waits,omitempty"`
	// Tiers are those of spec.overflow, unless the pod has a node in the only one that was tried.
	Tiers []tiers.Tier `json:"tiers,omitempty"`
	// DaemonSet reports that the pod belongs to one: on a virtual node, it may never start.
	DaemonSet bool `json:"-"`
}

// PodOf says how far a pod is. events may say why it does not start.
func PodOf(shown *corev1.Pod, events ...corev1.Event) Pod {
	p := Pod{Name: shown.Name, Phase: cmp.Or(string(shown.Status.Phase), string(corev1.PodPending))}
	p.Waits = WaitsOf(shown, events...)
	owner := metav1.GetControllerOfNoCopy(shown)
	p.DaemonSet = owner != nil && owner.Kind == "DaemonSet"
	p.Runs = shown.Status.Phase == corev1.PodSucceeded && disruption(shown) == nil || shown.Status.Phase == corev1.PodRunning && len(p.Waits) == 0
	p.WithoutToken = shown.Status.Phase == corev1.PodRunning && pod.Sent(shown) && lacksToken(shown)
	return p
}

// lacksToken reports whether the pod's condition says that its token is not sent.
func lacksToken(shown *corev1.Pod) bool {
	withheld := token.Withheld(shown)
	return withheld != "" && slices.ContainsFunc(shown.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == v1alpha1.PodOffloaded && strings.Contains(c.Message, withheld)
	})
}

// leaves is what a pod that is being deleted waits for.
var leaves = Wait{Reason: "Deleting", Message: "it is being deleted"}

// WaitsOf says what a pod waits for, and what is wrong with it, the cause first. It uses only the event that
// says why the pod does not start.
func WaitsOf(shown *corev1.Pod, events ...corev1.Event) []Wait {
	var waits []Wait
	for _, c := range shown.Status.Conditions {
		if string(c.Type) == v1alpha1.PodOffloaded && c.Status != corev1.ConditionTrue {
			waits = append(waits, NewWait(string(c.Type), c.Reason, c.Message))
		}
	}
	if shown.DeletionTimestamp != nil {
		waits = append(waits, leaves)
	}
	if ended(shown) {
		if wait := disruption(shown); wait != nil {
			waits = append(waits, *wait)
		}
		return append(waits, failures(shown)...)
	}
	if why := install.Wait(shown); why != "" {
		reason, message, _ := strings.Cut(why, ": ")
		waits = append(waits, NewWait("", reason, message))
	}
	if len(waits) == 0 && shown.Status.Phase != corev1.PodRunning {
		waits = append(waits, starting(shown, events))
	}
	if len(waits) == 0 {
		for _, c := range shown.Status.Conditions {
			if c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse {
				waits = append(waits, NewWait("", cmp.Or(c.Reason, "NotReady"), c.Message))
			}
		}
	}
	return waits
}

// Reasons for waiting that are not in the pod's status.
const (
	notScheduled = "NotScheduled"
	notStarted   = "NotStarted"
	starts       = "Starting"
)

const failedScheduling = "FailedScheduling"

// starting says how far the start of a pod is, if its status shows no problem.
func starting(shown *corev1.Pod, events []corev1.Event) Wait {
	there := isVirtual(shown.Spec.NodeName)
	wait := Wait{Reason: starts, Message: "its containers are starting"}
	event := Latest(events, func(e *corev1.Event) bool { return holdsUp(shown, e) })
	switch {
	case shown.Spec.NodeName == "":
		wait = Wait{Reason: notScheduled, Message: "the scheduler has not chosen a node for it yet"}
	case shown.Status.StartTime == nil && there:
		wait = Wait{Reason: notStarted, Message: "no node of the provider has started it yet"}
	case shown.Status.StartTime == nil:
		wait = Wait{Reason: notStarted, Message: "its node has not started it yet"}
	}
	if event != nil {
		wait.Message += ": " + NewWait("", event.Reason, event.Message).String()
	}
	return wait
}

func isVirtual(node string) bool { return strings.HasPrefix(node, v1alpha1.VirtualNodePrefix) }

// holdsUp reports whether an event may say why a pod does not start. A scheduler's event does not matter once
// the pod has a node: here, or, for a pod on a virtual node, in the provider.
func holdsUp(shown *corev1.Pod, e *corev1.Event) bool {
	scheduler := e.Reason == failedScheduling
	switch {
	case !Warns(e):
		return false
	case isVirtual(shown.Spec.NodeName):
		return ofProvider(e) && (shown.Status.StartTime == nil || !scheduler)
	case shown.Spec.NodeName == "":
		return scheduler || Ours(e)
	default:
		return !scheduler && !ofProvider(e)
	}
}

// ofProvider reports whether an event came from the provider.
func ofProvider(e *corev1.Event) bool { return e.ReportingController == podevent.Component }

// Ours reports whether an event is Spillway's.
func Ours(e *corev1.Event) bool {
	return strings.HasPrefix(e.ReportingController, spillway) || strings.HasPrefix(e.Source.Component, spillway)
}

const spillway = "spillway"

// Warns reports whether an event is a warning.
func Warns(e *corev1.Event) bool { return e.Type == corev1.EventTypeWarning }

// Latest returns the latest event that counts, or nil.
func Latest(events []corev1.Event, counts func(*corev1.Event) bool) *corev1.Event {
	var latest *corev1.Event
	for i := range events {
		event := &events[i]
		if counts(event) && (latest == nil || !When(event).Before(When(latest))) {
			latest = event
		}
	}
	return latest
}

// When returns when an event was last seen.
func When(e *corev1.Event) time.Time {
	at := e.CreationTimestamp.Time
	if e.Series != nil {
		at = e.Series.LastObservedTime.Time
	}
	if e.LastTimestamp.After(at) {
		at = e.LastTimestamp.Time
	}
	return at
}

// disruption says why a pod was ended from outside, for example by a drain; nil if it was not. Such a pod is
// Succeeded if its containers exit with 0 on the signal. A pod whose containers had ended before does not
// count.
func disruption(shown *corev1.Pod) *Wait {
	for _, c := range shown.Status.Conditions {
		if c.Type != corev1.DisruptionTarget || c.Status != corev1.ConditionTrue || c.Reason == shown.Status.Reason {
			continue // Or the status itself has that reason.
		}
		if all := shown.Status.ContainerStatuses; len(all) > 0 && !slices.ContainsFunc(all, func(one corev1.ContainerStatus) bool {
			return one.State.Terminated == nil || !one.State.Terminated.FinishedAt.Before(&c.LastTransitionTime)
		}) {
			continue
		}
		wait := NewWait(string(c.Type), c.Reason, c.Message)
		return &wait
	}
	return nil
}

// failures returns what the status of a failed pod says about the pod, and about the container that failed
// first.
func failures(shown *corev1.Pod) []Wait {
	if shown.Status.Phase != corev1.PodFailed {
		return nil
	}
	var waits []Wait
	if shown.Status.Reason != "" || shown.Status.Message != "" {
		waits = append(waits, NewWait("", cmp.Or(shown.Status.Reason, "Failed"), shown.Status.Message))
	}
	var first *corev1.ContainerStatus
	for _, statuses := range [][]corev1.ContainerStatus{shown.Status.InitContainerStatuses, shown.Status.ContainerStatuses} {
		for i := range statuses {
			ended := statuses[i].State.Terminated
			if ended == nil || ended.ExitCode == 0 || ended.Message != "" && ended.Message == shown.Status.Message {
				continue // It succeeded, or the pod's message is the same.
			}
			if first == nil || ended.FinishedAt.Before(&first.State.Terminated.FinishedAt) {
				first = &statuses[i]
			}
		}
	}
	if first != nil {
		ended := first.State.Terminated
		message := strings.TrimSuffix(fmt.Sprintf("exit code %d: %s", ended.ExitCode, strings.TrimSpace(ended.Message)), ": ")
		waits = append(waits, NewWait("container "+first.Name, cmp.Or(ended.Reason, "Error"), message))
	}
	return waits
}
