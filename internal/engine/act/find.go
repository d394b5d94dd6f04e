package act

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/retry"
)

// find reads an object from the provider without the cache. The cache has only objects with Spillway's mark,
// and may lag. If wanted has no UID, Spillway wants to create the object, and another may have its name
// already. If wanted has a UID, it is the object that the local one names.
func (c *Actor[T]) find(ctx context.Context, s decide.ObjectState[T], wanted client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	name, creating := client.ObjectKeyFromObject(wanted), wanted.GetUID() == ""
	found, err := c.Remotes.GetLive(ctx, name)
	if err == nil || retry.IsGone(err) {
		c.Attempts.Change(s.Key, func(r *attempts.Record) { r.Unanswered = "" })
	}
	switch {
	case retry.IsGone(err) && s.Unanswered:
		return nil
	case retry.IsGone(err) && !creating:
		c.Attempts.Change(s.Key, func(r *attempts.Record) { r.Lost = s.Local.GetUID() })
		return nil
	case creating && apierrors.IsForbidden(err) && decide.Present(s.Local):
		c.refuse(s, decide.Action{Verb: decide.Create, Side: decide.Remote, Object: wanted}, field.Problemf(v1alpha1.ReasonNameConflict,
			"%s %s exists in provider %s, but Spillway may not read it", c.Kind.Title(), name, c.ClusterID))
		return nil
	case err != nil:
		return fmt.Errorf("getting %s %s of provider %s: %w", c.Kind.Name, name, c.ClusterID, err)
	case c.Remotes.Represents(found, s.Key):
		// Spillway's own, whatever its UID: a reconcile created it, and ended before the answer.
		c.Remotes.Expect(found)
		return nil
	case c.recorded(s.Local, found):
		relabelled, now := decide.Action{Verb: decide.Find, Side: decide.Remote, Object: wanted}, c.Clock.Now()
		c.Attempts.Change(s.Key, func(r *attempts.Record) { r.Writes.Add(relabelled, now) })
		return c.relabel(ctx, found)
	case !creating:
		c.Attempts.Change(s.Key, func(r *attempts.Record) { r.Lost = s.Local.GetUID() }) // Another object has its name.
		return nil
	}
	c.refuse(s, decide.Action{Verb: decide.Create, Side: decide.Remote, Object: wanted}, field.Problemf(v1alpha1.ReasonNameConflict,
		"%s %s exists in provider %s, and is left alone: %s", c.Kind.Title(), name, c.ClusterID, provenance.Describe(found)))
	return nil
}

// recorded reports whether the local object names the remote one by its UID. Then the remote object is
// Spillway's, although somebody has removed its labels.
func (c *Actor[T]) recorded(local T, found client.Object) bool {
	if !decide.Present(local) || found.GetUID() == "" {
		return false
	}
	remote := provenance.RemoteOf(local)
	return remote.UID == found.GetUID() && remote.For == local.GetUID() && provenance.LocalOf(found).UID == local.GetUID()
}

// relabel restores Spillway's mark.
func (c *Actor[T]) relabel(ctx context.Context, found T) error {
	marked, ok := found.DeepCopyObject().(T)
	if !ok {
		return fmt.Errorf("%T is no %s", found, c.Kind.Name)
	}
	for key, value := range c.Remotes.Mark.Labels() {
		marked.SetLabels(decide.With(marked.GetLabels(), key, value))
	}
	if err := Send(ctx, c.Provider, marked, decide.Action{Verb: decide.Patch, Object: marked, Before: found, Locked: true}); err != nil {
		return fmt.Errorf("restoring the labels of %s %s of provider %s: %w", c.Kind.Name, client.ObjectKeyFromObject(found), c.ClusterID, err)
	}
	c.Remotes.Expect(marked)
	return nil
}
