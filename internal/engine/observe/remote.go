package observe

import (
	"cmp"
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/mapping"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// sites finds where the object should be in the provider, and what represents it there.
func (o *Observer[T]) sites(ctx context.Context, s *decide.Subject[T], namespaces *mapping.Mapping) error {
	remotes, err := o.Remotes.StandIns(ctx, s.Key, namespaces.Places(s.Key.Namespace))
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
	if !o.Kind.Selection.Copies() {
		o.one(s, remotes, namespaces)
		return nil
	}
	s.Sites, err = o.copies(ctx, s.Key, remotes, namespaces)
	return err
}

// copies returns the places where copies should be, each with its copy. Copies in other places follow.
func (o *Observer[T]) copies(ctx context.Context, key types.NamespacedName, remotes []T, namespaces *mapping.Mapping) ([]decide.Site[T], error) {
	places, otherwise, err := o.wanted(ctx, key, namespaces)
	if o.Kind.For != nil && len(places) > 1 {
		places = o.only(places, remotes)
	}
	var sites []decide.Site[T]
	for _, place := range places {
		sites = append(sites, decide.Site[T]{Place: place, Wanted: true})
	}
	for _, remote := range remotes {
		name := client.ObjectKeyFromObject(remote)
		i := slices.IndexFunc(sites, func(site decide.Site[T]) bool {
			return site.Wanted && o.Kind.RemoteName(site.Place.Target, key) == name
		})
		if i < 0 {
			i, sites = len(sites), append(sites, decide.Site[T]{})
		}
		sites[i].Remote = remote
	}
	switch {
	case len(places) > 0:
		return sites, err
	case len(remotes) > 0: // The first copy counts as the copy at that place.
		sites[0].Place, sites[0].Wanted = otherwise.Place, otherwise.Wanted
		return sites, err
	default:
		return []decide.Site[T]{otherwise}, err
	}
}

// one finds the remote pod. A pod stays where it was created, even if its namespace now goes elsewhere. If
// there are several remote pods, one chooses the pod that the local one names. The others are strays.
func (o *Observer[T]) one(s *decide.Subject[T], remotes []T, namespaces *mapping.Mapping) {
	s.Sites = []decide.Site[T]{{Place: namespaces.Place(s.Key.Namespace)}}
	site := &s.Sites[0]
	at := o.Kind.RemoteName(site.Place.Target, s.Key)
	var named provenance.Remote
	if decide.Present(s.Local) {
		named = provenance.RemoteOf(s.Local)
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
		site.Remote, s.Strays = remotes[0], append(s.Strays, remotes[1:]...)
		there = site.Remote.GetNamespace()
	} else if named.UID == "" || named.For != s.Local.GetUID() {
		return // It was never started. Otherwise it may exist without Spillway's labels.
	}
	if decide.Present(s.Local) {
		site.Place = namespaces.PlaceIn(s.Key.Namespace, there)
	}
}

// only returns the place of an object that can be in one place at a time: it stays in its present place.
func (o *Observer[T]) only(places []decide.Place, remotes []T) []decide.Place {
	for _, remote := range remotes {
		for i := range places {
			if places[i].Namespace == o.Kind.For(remote) {
				return places[i : i+1]
			}
		}
	}
	return places[:1]
}
