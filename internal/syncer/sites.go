package syncer

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/seeded"
)

// observeUse finds out whether anything needs the object, and where it goes: a pod
// where its namespace goes, and what pods need to where they are.
func (c *kindController[T]) observeUse(ctx context.Context, s *decide.Snapshot[T]) error {
	s.Place = c.place(s.Key.Namespace)
	if !c.Copied {
		return nil
	}
	found, err := c.pair.referers(ctx, decide.Ref{Kind: c.Name, NamespacedName: s.Key})
	if err != nil {
		return err
	}
	s.Wanted = len(found) > 0
	for kind, keys := range found {
		for _, key := range keys {
			places, err := c.kinds[kind].places(ctx, key)
			if err != nil {
				return err
			}
			for _, place := range places {
				place = c.near(place, s.Key.Namespace)
				if !slices.ContainsFunc(s.Sites, func(site decide.Site[T]) bool { return site.Place == place }) {
					s.Sites = append(s.Sites, decide.Site[T]{Place: place})
				}
			}
		}
	}
	if s.Wanted && len(s.Sites) == 0 { // What needs it is on its way out, and may use it still.
		s.Place = decide.Place{Problem: decide.NotSynced(c.title(), s.Key)}
	}
	slices.SortFunc(s.Sites, func(a, b decide.Site[T]) int {
		return cmp.Or(cmp.Compare(a.Place.Namespace, b.Place.Namespace), cmp.Compare(a.Place.Local, b.Place.Local))
	})
	return nil
}

// places implements attached. A namespace without an alternative needs no look at
// each pod of it: there may be many.
func (c *kindController[T]) places(ctx context.Context, key types.NamespacedName) ([]decide.Place, error) {
	if alternatives := c.alternatives(key.Namespace); !c.Copied && len(alternatives) == 1 {
		return alternatives, nil
	}
	s := decide.Snapshot[T]{Key: key}
	if err := c.observeLocal(ctx, &s); err != nil {
		return nil, err
	}
	if err := c.observeUse(ctx, &s); err != nil {
		return nil, err
	}
	if c.Copied && c.For == nil {
		var places []decide.Place
		for i := range s.Sites {
			places = append(places, s.Sites[i].Place)
		}
		return places, nil
	}
	if err := c.observeRemote(ctx, &s); err != nil {
		return nil, err
	}
	return []decide.Place{s.Place}, nil
}

// observeRemote finds what stands for the local object in the provider, and
// whether it is where it should be.
func (c *kindController[T]) observeRemote(ctx context.Context, s *decide.Snapshot[T]) error {
	remotes, err := c.standIns(ctx, s.Key)
	if err != nil {
		return err
	}
	remotes = slices.DeleteFunc(remotes, func(remote T) bool {
		another := decide.Present(s.Local) && provenance.LocalOf(remote).UID != s.Local.GetUID()
		if another {
			s.Strays = append(s.Strays, remote)
		}
		return another
	})
	if !c.Copied || !decide.Present(s.Local) {
		c.sort(s, remotes)
		return nil
	}
	c.sortCopies(s, remotes)
	return nil
}

// standIns are all objects of the provider that are ours and stand for a local
// object. What has just been written, and is not in the index yet, is in one of
// the places where it may be.
func (c *kindController[T]) standIns(ctx context.Context, key types.NamespacedName) ([]T, error) {
	list := c.NewList()
	err := c.provider.GetCache().List(ctx, list, client.MatchingFields{fieldLocal: key.String()}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("listing what stands for %s %s in provider %s: %w", c.Name, key, c.clusterID, err)
	}
	var names []types.NamespacedName
	add := func(name types.NamespacedName) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, place := range c.alternatives(key.Namespace) {
		add(c.RemoteName(place.Target, key))
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		if obj, ok := item.(client.Object); ok {
			add(client.ObjectKeyFromObject(obj))
		}
	}
	var found []T
	for _, name := range names {
		remote := c.New()
		switch err := c.remote.Get(ctx, name, remote); {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, err
		case c.mark.IsOn(remote) && localKey(remote) == key: // Else not ours, or somebody else's: creating will tell.
			found = append(found, remote)
		}
	}
	return found, nil
}

// sort picks the remote object that stands for the local one, of which there is
// one. Where it went was decided when it was made, and it stays there, wherever
// its namespace goes now. Should there be several, it is the one that the local
// object names.
func (c *kindController[T]) sort(s *decide.Snapshot[T], remotes []T) {
	at := c.RemoteName(s.Place.Target, s.Key)
	var named provenance.Remote
	if decide.Present(s.Local) {
		named = provenance.RemoteOf(s.Local)
	}
	if s.Place.Open && seeded.On(seeded.PodMovedWithItsNamespace) {
		remotes = slices.DeleteFunc(remotes, func(remote T) bool {
			elsewhere := client.ObjectKeyFromObject(remote) != at
			if elsewhere {
				s.Strays = append(s.Strays, remote)
			}
			return elsewhere
		})
	}
	rank := func(remote T) int {
		switch {
		case named.UID == remote.GetUID():
			return 0
		case client.ObjectKeyFromObject(remote) == at:
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(remotes, func(a, b T) int { return cmp.Compare(rank(a), rank(b)) })
	there := named.Namespace
	if len(remotes) > 0 {
		s.Remote, s.Strays = remotes[0], append(s.Strays, remotes[1:]...)
		there = s.Remote.GetNamespace()
	} else if named.UID == "" || named.For != s.Local.GetUID() {
		return // It was never started. Else it may be there, without our labels.
	}
	if decide.Present(s.Local) {
		s.Place = c.placeIn(s.Key.Namespace, there)
	}
}

// sortCopies finds the copy of each site.
func (c *kindController[T]) sortCopies(s *decide.Snapshot[T], remotes []T) {
	if c.For != nil && len(s.Sites) > 1 {
		s.Sites = c.only(s.Sites, remotes)
	}
	for _, remote := range remotes {
		name := client.ObjectKeyFromObject(remote)
		i := slices.IndexFunc(s.Sites, func(site decide.Site[T]) bool { return c.RemoteName(site.Place.Target, s.Key) == name })
		if i < 0 {
			s.Unneeded = append(s.Unneeded, remote)
		} else {
			s.Sites[i].Remote = remote
		}
	}
	switch {
	case len(s.Sites) > 0:
		s.Place, s.Remote = s.Sites[0].Place, s.Sites[0].Remote
	case len(s.Unneeded) > 0:
		s.Remote, s.Unneeded = s.Unneeded[0], s.Unneeded[1:]
	}
}

// only is the site of an object that can be in one place at a time: it stays in
// the one that it is in.
func (c *kindController[T]) only(sites []decide.Site[T], remotes []T) []decide.Site[T] {
	for _, remote := range remotes {
		for i := range sites {
			if sites[i].Place.Namespace == c.For(remote) {
				return sites[i : i+1]
			}
		}
	}
	return sites[:1]
}
