package syncer

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/retry"
)

// mostMessage bounds, in characters, what an API server's message takes of a condition.
const mostMessage = 512

// problemOf says what an API server has refused, and why.
func problemOf(a decide.Action, clusterID string, err error) decide.Problem {
	reason := v1alpha1.ReasonRejected
	switch a.Verb { //nolint:exhaustive // All others are told by the side.
	case decide.PatchStatus:
		reason = v1alpha1.ReasonStatusRejected
	case decide.Patch:
		reason = v1alpha1.ReasonUpdateRejected
	case decide.Delete:
		reason = v1alpha1.ReasonDeletionFailed
	}
	message := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		message = status.Status().Message
	}
	where, does := "the consumer", "refuses"
	if a.Side == decide.Remote {
		where = "provider " + clusterID
	}
	if retry.IsServerError(err) {
		reason, does = v1alpha1.ReasonServerError, "fails"
	}
	return decide.Problemf(reason, "%s %s to %s %s: %s", where, does, a.Verb, client.ObjectKeyFromObject(a.Object), bounded(message))
}

// bounded makes a message that somebody else wrote fit for a condition.
func bounded(message string) string {
	message = provenance.Clean(message)
	if runes := []rune(message); len(runes) > mostMessage {
		return string(runes[:mostMessage-1]) + "…"
	}
	return message
}
