package syncer

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/step"
	"github.com/spillway-io/spillway/internal/translate"
)

// mostMessage bounds, in characters, what an API server's message takes of a condition.
const mostMessage = 512

// problemOf says what an API server has refused, and why.
func problemOf(a Action, clusterID string, err error) Problem {
	reason := v1alpha1.ReasonRejected
	switch a.Verb { //nolint:exhaustive // All others are told by the side.
	case PatchStatus:
		reason = v1alpha1.ReasonStatusRejected
	case Patch:
		reason = v1alpha1.ReasonUpdateRejected
	case Delete:
		reason = v1alpha1.ReasonDeletionFailed
	}
	message := err.Error()
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		message = status.Status().Message
	}
	where, does := "the consumer", "refuses"
	if a.Side == Remote {
		where = "provider " + clusterID
	}
	if step.IsServerError(err) {
		reason, does = v1alpha1.ReasonServerError, "fails"
	}
	return Problem{reason, fmt.Sprintf("%s %s to %s %s: %s", where, does, a.Verb, client.ObjectKeyFromObject(a.Object), bounded(message))}
}

// bounded makes a message that somebody else wrote fit for a condition.
func bounded(message string) string {
	message = provenance.Clean(message)
	if runes := []rune(message); len(runes) > mostMessage {
		return string(runes[:mostMessage-1]) + "…"
	}
	return message
}

// missing is said of what does not exist, or is kept out of sight: tokens are not
// even looked at.
func missing(kind string, name types.NamespacedName) Problem {
	message := fmt.Sprintf("%s %s does not exist", kind, location(name))
	if kind == "Secret" {
		message += ", or is a token of the consumer, which is never sent"
	}
	return Problem{v1alpha1.ReasonReferenceNotFound, message}
}

// never has a reason of its own: what is only not sent yet is soon, by itself.
func never(kind string, name types.NamespacedName) Problem {
	return Problem{translate.ReasonSyncNever, fmt.Sprintf("%s %s has %s=%s, so it is not sent to any provider",
		kind, location(name), v1alpha1.LabelSync, v1alpha1.SyncNever)}
}

func notSynced(kind string, name types.NamespacedName) Problem {
	return Problem{v1alpha1.ReasonReferenceNotSynced, fmt.Sprintf("%s %s is being sent to the provider", kind, location(name))}
}

// noRight is said of what cannot be sent because the provider does not let us see it.
func noRight(kind string, name types.NamespacedName, clusterID, right string) Problem {
	return Problem{v1alpha1.ReasonRightsMissing, fmt.Sprintf(
		"%s %s cannot be sent: provider %s gives no right to %s", kind, location(name), clusterID, right)}
}

// usedElsewhere is said of what can be in one place at a time, and is in another.
func usedElsewhere(kind string, name types.NamespacedName, there, in string) Problem {
	return Problem{v1alpha1.ReasonReferenceNotSynced, fmt.Sprintf(
		"%s %s is used by pods in namespace %s of the provider; it goes to namespace %s when they have ended", kind, location(name), there, in)}
}

// withheld tells whether the owner of an object says that it is not to be sent.
func withheld(obj client.Object) bool {
	return obj.GetAnnotations()[v1alpha1.LabelSync] == v1alpha1.SyncNever || obj.GetLabels()[v1alpha1.LabelSync] == v1alpha1.SyncNever
}
