package act

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/retry"
)

// failed decides whether a failed action is an error, or a refusal to remember.
func (c *Actor[T]) failed(ctx context.Context, s decide.ObjectState[T], a decide.Action, err error) error {
	wrapped := fmt.Errorf("to %s %s %s in the %s (cluster %s): %w", a.Verb, c.Kind.Name, client.ObjectKeyFromObject(a.Object), a.Side, c.ClusterID, err)
	switch {
	case retry.IsGone(err) && a.Verb != decide.Create:
		return wrapped // The watch will show it, and enqueue the object.
	case apierrors.IsAlreadyExists(err):
		existing, ok := a.Object.DeepCopyObject().(client.Object)
		if !ok {
			return wrapped
		}
		return c.find(ctx, s, existing)
	case c.Kind.Selection == kind.InMappedNamespace && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return wrapped // Spillway recreates the namespace. The NamespaceOffloading reports that.
	case !decide.Present(s.Local), !retry.SaysWhy(err) && c.isTransient(s, a, err):
		return wrapped // An object that exists only in the provider has no owner to inform, so the error is logged.
	}
	if retry.IsServerError(err) { // It may concern more than this object, so it is logged, too.
		log.FromContext(ctx).Info("it is tried again later", "error", wrapped.Error())
	}
	c.refuse(s, a, problemOf(a, c.ClusterID, err))
	return nil
}

func (c *Actor[T]) refuse(s decide.ObjectState[T], a decide.Action, problem field.Problem) {
	c.Refused(s, decide.Refused{Verb: a.Verb, Subresource: a.Subresource, In: c.Kind.CopyNamespaceOf(a), Problem: problem})
}

// isTransient reports whether an error may be temporary. Two kinds of errors count as a refusal once they repeat,
// so that the owner learns of them. The first is a conflict of a creation. A new object has no version that could
// be old, so an admission webhook must cause the conflict. The second is a server error, which mostly comes from a
// webhook that does not answer. Spillway then retries about as often as before.
func (c *Actor[T]) isTransient(s decide.ObjectState[T], a decide.Action, err error) bool {
	isEndless, now := false, c.Clock.Now()
	switch {
	case a.Verb == decide.Create && apierrors.IsConflict(err):
		c.Attempts.Change(s.Key, func(r *attempts.Record) { isEndless = r.Conflicts.Conflict(now) })
	case retry.IsServerError(err) && a.Side == decide.Remote && (a.Verb == decide.Create || a.Verb == decide.Patch || a.Verb == decide.Delete):
		c.Attempts.Change(s.Key, func(r *attempts.Record) { isEndless = r.ServerErrors.ServerError(now) })
	}
	return !isEndless
}

// mostMessage is the most characters of an API server's message that a condition repeats.
const mostMessage = 512

// problemOf is the problem of an action that an API server has refused.
func problemOf(a decide.Action, clusterID string, err error) field.Problem {
	reason := v1alpha1.ReasonRejected
	switch a.Verb { //nolint:exhaustive // All others have the general reason.
	case decide.PatchStatus:
		reason = v1alpha1.ReasonStatusRejected
	case decide.Patch:
		reason = v1alpha1.ReasonUpdateRejected
	case decide.Delete:
		reason = v1alpha1.ReasonDeletionFailed
	}
	message := cmp.Or(retry.Said(err), err.Error())
	where, does := "the consumer", "refuses"
	if a.Side == decide.Remote {
		where = "provider " + clusterID
	}
	if retry.IsServerError(err) {
		reason, does = v1alpha1.ReasonServerError, "fails"
	}
	return field.Problemf(reason, "%s %s to %s %s: %s", where, does, a.Verb, client.ObjectKeyFromObject(a.Object), text.Bound(message, mostMessage))
}
