package syncer

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/retry"
	"github.com/spillway-io/spillway/internal/seeded"
)

// find asks the provider itself for an object that its cache does not show: one
// that is there already when it is to be created, or, if wanted has a UID, the
// one that the local object names. The cache holds what carries our mark only,
// and may be a moment behind.
func (c *kindController[T]) find(ctx context.Context, s decide.Snapshot[T], wanted client.Object) error {
	name, creating := client.ObjectKeyFromObject(wanted), wanted.GetUID() == ""
	found := c.New()
	err := c.provider.GetAPIReader().Get(ctx, name, found)
	if err == nil || retry.IsGone(err) {
		c.memory.Unanswered.Drop(s.Key)
	}
	switch {
	case retry.IsGone(err) && s.Unanswered:
		return nil
	case retry.IsGone(err) && !creating:
		c.memory.Lost.Set(s.Key, s.Local.GetUID())
		return nil
	case err != nil:
		return fmt.Errorf("getting %s %s of provider %s: %w", c.Name, name, c.clusterID, err)
	case c.mark.IsOn(found) && localKey(found) == s.Key:
		// Ours, of whichever UID: made by a pass that did not live to see it.
		c.remote.Wrote(found)
		return nil
	case c.recorded(s.Local, found), seeded.On(seeded.ForeignRelabelled):
		return c.relabel(ctx, found)
	case !creating:
		c.memory.Lost.Set(s.Key, s.Local.GetUID()) // Another one has its name.
		return nil
	}
	c.memory.Refusals.Note(s.Key, version(s.Local), decide.Refused{Verb: decide.Create, In: c.namespaceOf(decide.Action{Side: decide.Remote, Object: wanted}), Problem: decide.Problemf(v1alpha1.ReasonNameConflict,
		"%s %s exists in provider %s, and is left alone: %s", c.title(), name, c.clusterID, provenance.Describe(found))})
	return nil
}

// recorded reports whether the local object names the remote one by its UID: then
// it is ours, though somebody has taken its labels off.
func (c *kindController[T]) recorded(local T, found client.Object) bool {
	if !decide.Present(local) || found.GetUID() == "" {
		return false
	}
	remote := provenance.RemoteOf(local)
	return remote.UID == found.GetUID() && (remote.For == "" || remote.For == local.GetUID()) && provenance.LocalOf(found).UID == local.GetUID()
}

// relabel puts our mark back.
func (c *kindController[T]) relabel(ctx context.Context, found T) error {
	marked, ok := found.DeepCopyObject().(T)
	if !ok {
		return fmt.Errorf("%T is no %s", found, c.Name)
	}
	for key, value := range c.mark.Labels() {
		marked.SetLabels(decide.With(marked.GetLabels(), key, value))
	}
	if err := patch(ctx, c.provider.GetClient(), marked, decide.Action{Verb: decide.Patch, Object: marked, Before: found, Locked: true}); err != nil {
		return fmt.Errorf("putting the labels of %s %s of provider %s back: %w", c.Name, client.ObjectKeyFromObject(found), c.clusterID, err)
	}
	c.remote.Wrote(marked)
	return nil
}
