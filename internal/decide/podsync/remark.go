package podsync

import (
	"strings"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/translate"
)

// remark is what is to be said of a pod that runs in the provider, though it is no
// failure of it.
type remark struct {
	decide.Problem
	// Quiet tells that there is no event of it: many pods may have a toleration that
	// is not sent, and each event would be one write more.
	Quiet bool
}

// remarkOn is the remark on a pod, or nil.
func remarkOn(s snapshot) *remark {
	said := withheld(s)
	if s.Outdated == nil {
		return said
	}
	outdated := &remark{Problem: decide.Problem{Reason: s.Outdated.Reason, Message: "the pod runs on with an older state of what it uses: " + s.Outdated.Message}}
	if said != nil {
		outdated.Message += "; " + said.Message
	}
	return outdated
}

// withheld is why some containers for debugging, or some tolerations, labels or
// annotations, are not sent, or nil. The pod runs on without them, and Kubernetes
// lets nobody remove the first two: so it is no failure of the pod, but said all the same.
func withheld(s snapshot) *remark {
	said := &remark{Quiet: true}
	var messages []string
	for _, refusal := range translate.EphemeralContainerRefusals(s.Local) {
		if said.Quiet {
			said.Reason, said.Quiet = refusal.Reason, false
		}
		messages = append(messages, refusal.Message)
	}
	if len(s.Remote.Status.Conditions) > 0 { // Said with the first status that the provider reports, not in a write of its own.
		messages = append(messages, translate.Withheld(s.Local, s.Remote, s.Limits)...)
	}
	if len(messages) == 0 {
		return nil
	}
	said.Message = "the pod runs on without what is not sent: " + strings.Join(messages, "; ")
	return said
}
