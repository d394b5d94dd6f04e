package podsync

import (
	"strings"

	"github.com/spillway-io/spillway/internal/syncer"
	"github.com/spillway-io/spillway/internal/translate"
)

// remark is what is to be said of a pod that runs in the provider, though it is no
// failure of it, or nil.
func remark(s snapshot) *syncer.Problem {
	said := withheld(s)
	if s.Outdated == nil {
		return said
	}
	outdated := syncer.Problem{Reason: s.Outdated.Reason, Message: "the pod runs on with an older state of what it uses: " + s.Outdated.Message}
	if said != nil {
		outdated.Message += "; " + said.Message
	}
	return &outdated
}

// withheld is why some containers for debugging, or some tolerations, are not sent,
// or nil. The pod runs on without them, and Kubernetes lets nobody remove them: so
// it is no failure of the pod, but said all the same.
func withheld(s snapshot) *syncer.Problem {
	refusals := translate.EphemeralContainerRefusals(s.Local)
	if len(s.Remote.Status.Conditions) > 0 { // Said with the first status that the provider reports, not in a write of its own.
		refusals = append(refusals, translate.WithheldTolerations(s.Local, s.Remote)...)
	}
	if len(refusals) == 0 {
		return nil
	}
	messages := make([]string, len(refusals))
	for i, refusal := range refusals {
		messages[i] = refusal.Message
	}
	return &syncer.Problem{Reason: refusals[0].Reason, Message: "the pod runs on without what is not sent: " + strings.Join(messages, "; ")}
}
