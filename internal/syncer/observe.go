package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/ownwrites"
	"github.com/spillway-io/spillway/internal/translate"
)

// observe gathers all that a decision about one local object looks at. It reads
// caches only, and what was answered in this pass.
func (c *kindController[T]) observe(ctx context.Context, key types.NamespacedName, made []decide.Attempt) (decide.Snapshot[T], error) {
	s := decide.Snapshot[T]{
		Key: key, ClusterID: c.clusterID, Now: c.clock.Now(), Reach: c.reach(), Limits: c.limits.Load(),
		Elsewhere: func(namespace string) translate.Target { return c.place(namespace).Target },
	}
	s.WaitingFor, s.Waiting = c.memory.Waiting.Since(key)
	if err := c.observeLocal(ctx, &s); err != nil {
		return s, err
	}
	if c.Copied && s.Known {
		s.Local = answered(s.Local, made)
	}
	if err := c.observeUse(ctx, &s); err != nil {
		return s, err
	}
	if err := c.observeRemote(ctx, &s); err != nil {
		return s, err
	}
	if !decide.Present(s.Local) {
		return s, nil
	}
	c.observeRefusals(&s)
	s.Held = c.memory.Sent.Wait(key.Namespace)
	s.Lost = c.memory.Lost.Is(key, s.Local.GetUID())
	s.Unanswered = !decide.Present(s.Remote) && c.memory.Unanswered.Is(key, s.Local.GetUID())
	if c.Needs == nil || !s.Known {
		return s, nil
	}
	return s, c.observeNeeds(ctx, &s)
}

// observeNeeds finds out what is ready of what the object needs, where it is not
// yet: that matters when it is created.
func (c *kindController[T]) observeNeeds(ctx context.Context, s *decide.Snapshot[T]) error {
	var err error
	for i := range s.Sites {
		if site := &s.Sites[i]; !decide.Present(site.Remote) {
			if site.Needs, err = c.needs(ctx, c.Needs(s.Local), site.Place); err != nil {
				return err
			}
		}
	}
	switch {
	case len(s.Sites) > 0:
		s.Needs = s.Sites[0].Needs
	case !decide.Present(s.Remote):
		s.Needs, err = c.needs(ctx, c.Needs(s.Local), s.Place)
	case c.pair.anyRefused():
		s.Outdated = c.pair.outdated(c.Needs(s.Local), s.Place)
	}
	return err
}

// observeRefusals recalls what was refused.
func (c *kindController[T]) observeRefusals(s *decide.Snapshot[T]) {
	v := version(s.Local)
	refusal := func(place decide.Place) *decide.Refused {
		if refused := c.memory.Refusals.Of(s.Key, v, c.in(place)); refused != nil {
			return refused
		}
		return c.memory.Refusals.Of(s.Key, v, "") // Of the mark, which is for all places.
	}
	s.Refused = refusal(s.Place)
	for i := range s.Sites {
		s.Sites[i].Refused = refusal(s.Sites[i].Place)
	}
}

// in is the namespace by which refusals of copies are told apart: a pod is in one
// place, and a volume in none.
func (c *kindController[T]) in(place decide.Place) string {
	if !c.Copied {
		return ""
	}
	return c.RemoteName(place.Target, types.NamespacedName{Namespace: place.Local, Name: "x"}).Namespace
}

// observeLocal reads the local object: its content if the view has it, else,
// for copied kinds, what the catalogue knows of it.
func (c *kindController[T]) observeLocal(ctx context.Context, s *decide.Snapshot[T]) error {
	content := c.New()
	err := c.local.Get(ctx, s.Key, content)
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	if !c.Copied {
		if err == nil {
			s.Local, s.Known = content, true
		}
		return nil
	}
	known := err == nil
	metadata, err := c.metadata()
	if err != nil {
		return err
	}
	if err := c.catalogue.Get(ctx, s.Key, metadata); err != nil {
		return client.IgnoreNotFound(err)
	}
	if known && content.GetUID() == metadata.UID && !ownwrites.Older(content, metadata) {
		s.Local, s.Known = content, true
		return nil
	}
	s.Local = c.New()
	decide.CopyMetadata(s.Local, metadata)
	return nil
}

// metadata is how the catalogue is asked for the kind.
func (c *kindController[T]) metadata() (*metav1.PartialObjectMetadata, error) {
	gvk, err := apiutil.GVKForObject(c.New(), c.consumer.Scheme())
	if err != nil {
		return nil, fmt.Errorf("the kind of a %s: %w", c.Name, err)
	}
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(gvk)
	return metadata, nil
}

// version changes when what a user says about an object does. The generation of
// a pod does; its resourceVersion changes with every status that we write.
func version(obj client.Object) string {
	if generation := obj.GetGeneration(); generation != 0 {
		return string(obj.GetUID()) + "/" + strconv.FormatInt(generation, 10) // Each object begins with the first.
	}
	return obj.GetResourceVersion()
}

// referers implements attached.
func (c *kindController[T]) referers(ctx context.Context, ref decide.Ref) ([]types.NamespacedName, error) {
	if c.Needs == nil {
		return nil, nil
	}
	list := c.NewList()
	if err := c.view.List(ctx, list, client.MatchingFields{fieldNeeds: ref.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	keys, err := keysOf(list)
	if c.Refused == nil || err != nil {
		return keys, err
	}
	return c.sent(ctx, keys)
}

// sent are those of these objects that are in the provider, or that its limits
// allow to go there: what is refused needs nothing, but what runs needs it still.
func (c *kindController[T]) sent(ctx context.Context, keys []types.NamespacedName) ([]types.NamespacedName, error) {
	var errs []error
	limits := c.limits.Load()
	return slices.DeleteFunc(keys, func(key types.NamespacedName) bool {
		local := c.New()
		if err := c.local.Get(ctx, key, local); err != nil {
			return false // It is going, and that comes with a pass of its own.
		}
		if !c.Refused(local, limits) {
			return false
		}
		remotes, err := c.standIns(ctx, key)
		errs = append(errs, err)
		return len(remotes) == 0
	}), errors.Join(errs...)
}

func keysOf(list client.ObjectList) ([]types.NamespacedName, error) {
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	keys := make([]types.NamespacedName, 0, len(items))
	for _, item := range items {
		if obj, ok := item.(client.Object); ok {
			keys = append(keys, client.ObjectKeyFromObject(obj))
		}
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	return keys, nil
}
