package pod

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/field"
)

// remark is a note about a pod that runs in the provider. It is not a failure.
type remark struct {
	field.Problem
	// Quiet suppresses the event. Many pods may have a toleration that is not sent, and each event would be
	// one more write.
	Quiet bool
}

// remarkOn returns the remark about a pod, or nil.
func remarkOn(s snapshot) *remark {
	said := notSentRemark(s)
	if s.Outdated == nil {
		return said
	}
	outdated := &remark{Problem: field.Problem{Reason: s.Outdated.Reason, Message: "the pod keeps running " + s.Outdated.Message}}
	if said != nil {
		outdated.Message += "; " + said.Message
	}
	return outdated
}

// mostLeftOut is the most characters that a condition repeats of an annotation of the remote pod.
const mostLeftOut = 1000

// notSentRemark returns why some debug containers, tolerations, labels, annotations, a token, or a part of what
// the pod requires of its node are not sent, or nil. The pod runs without them. It does not fail because of them: nobody can remove debug containers and
// tolerations from a pod, so its owner could not mend that.
func notSentRemark(s snapshot) *remark {
	said := &remark{Quiet: true}
	var messages []string
	for _, refusal := range accept.EphemeralContainerRefusals(s.Local, s.Limits) {
		if said.Quiet {
			said.Reason, said.Quiet = refusal.Reason, false
		}
		messages = append(messages, refusal.Message)
	}
	if len(s.Remote.Status.Conditions) > 0 { // Reported with the provider's first status, not in a write of its own.
		messages = append(messages, Withheld(s.Local, s.Remote, s.Limits)...)
		if said := field.LeftOut(s.Remote); said != "" {
			messages = append(messages, field.Bounded(said, mostLeftOut))
		}
		if withheld := WithheldToken(s.Local, s.Remote); withheld != "" {
			messages = append(messages, withheld)
		}
	}
	if len(messages) == 0 {
		return nil
	}
	said.Message = "the pod keeps running without these: " + strings.Join(messages, "; ")
	return said
}

// remarked returns the remark in the status of a pod that has ended, or nil. The remark stays, because the
// pod may have failed without the parts that were not sent.
func remarked(local *corev1.Pod) *field.Problem {
	for i := range local.Status.Conditions {
		if c := &local.Status.Conditions[i]; c.Type == v1alpha1.PodOffloaded && c.Status == corev1.ConditionTrue && c.Message != "" {
			return &field.Problem{Reason: c.Reason, Message: c.Message}
		}
	}
	return nil
}
