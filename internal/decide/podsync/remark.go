package podsync

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/translate"
)

// remark is a note about a pod that runs in the provider, and is not a failure.
type remark struct {
	field.Problem
	// Quiet reports that it gets no event: many pods may have a toleration that is not
	// sent, and each event would be one more write.
	Quiet bool
}

// remarkOn is the remark on a pod, or nil.
func remarkOn(s snapshot) *remark {
	said := withheld(s)
	if s.Outdated == nil {
		return said
	}
	outdated := &remark{Problem: field.Problem{Reason: s.Outdated.Reason, Message: "the pod runs on " + s.Outdated.Message}}
	if said != nil {
		outdated.Message += "; " + said.Message
	}
	return outdated
}

// withheld is why some debug containers, tolerations, labels, annotations or a token are
// not sent, or nil. The pod runs without them, and Kubernetes lets nobody remove the first
// two: so it is no failure of the pod, but still reported.
func withheld(s snapshot) *remark {
	said := &remark{Quiet: true}
	var messages []string
	for _, refusal := range translate.EphemeralContainerRefusals(s.Local, s.Limits) {
		if said.Quiet {
			said.Reason, said.Quiet = refusal.Reason, false
		}
		messages = append(messages, refusal.Message)
	}
	if len(s.Remote.Status.Conditions) > 0 { // Reported with the provider's first status, not in a write of its own.
		messages = append(messages, translate.Withheld(s.Local, s.Remote, s.Limits)...)
		if token := translate.WithheldToken(s.Local); token != "" {
			messages = append(messages, token)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	said.Message = "the pod runs on without what is not sent: " + strings.Join(messages, "; ")
	return said
}

// remarked is the remark in the status of a pod that has ended, or nil. It stays: the pod may
// have failed for want of what was not sent.
func remarked(local *corev1.Pod) *field.Problem {
	for i := range local.Status.Conditions {
		if c := &local.Status.Conditions[i]; c.Type == v1alpha1.PodOffloaded && c.Status == corev1.ConditionTrue && c.Message != "" {
			return &field.Problem{Reason: c.Reason, Message: c.Message}
		}
	}
	return nil
}
