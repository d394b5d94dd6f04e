package act

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/kind"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/retry"
)

// failed decides how to go on after a failed action.
func (c *Actor[T]) failed(ctx context.Context, s decide.Snapshot[T], a decide.Action, err error) error {
	wrapped := fmt.Errorf("to %s %s %s in the %s (cluster %s): %w", a.Verb, c.Kind.Name, client.ObjectKeyFromObject(a.Object), a.Side, c.ClusterID, err)
	switch {
	case retry.IsGone(err) && a.Verb != decide.Create:
		return wrapped // Decided again when the watch shows it: only the watch counts.
	case apierrors.IsAlreadyExists(err):
		existing, ok := a.Object.DeepCopyObject().(client.Object)
		if !ok {
			return wrapped
		}
		return c.find(ctx, s, existing)
	case c.Kind.Selection == kind.InMappedNamespace && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return wrapped // The namespace is made again; its NamespaceOffloading says so.
	case !decide.Present(s.Local), !retry.SaysWhy(err) && c.mayPass(s, a, err):
		return wrapped // Nobody owns what only the provider has, so the log has to do.
	}
	if retry.IsServerError(err) { // It may concern more than this object, so it is logged, too.
		log.FromContext(ctx).Info("it is tried again later", "error", wrapped.Error())
	}
	c.Refusals.Note(s, a, problemOf(a, c.ClusterID, err))
	return nil
}

// mayPass reports whether an error that says nothing about a request may not come
// again. What meets one conflict after the other when it is created is refused: no
// version of it can be old, and it is an admission webhook that answers so. What
// meets one server error after the other is most often held up by a webhook that
// does not answer: its owner is notified, and it is tried about as often as before.
func (c *Actor[T]) mayPass(s decide.Snapshot[T], a decide.Action, err error) bool {
	switch {
	case a.Verb == decide.Create && apierrors.IsConflict(err):
		return !c.Memory.Overtaken.Note(s.Key, c.Clock.Now())
	case retry.IsServerError(err) && a.Side == decide.Remote && (a.Verb == decide.Create || a.Verb == decide.Patch || a.Verb == decide.Delete):
		return !c.Memory.Failing.Note(s.Key, c.Clock.Now())
	default:
		return true
	}
}

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
