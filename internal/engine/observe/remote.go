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

// findRemoteStates finds where the object should be in the provider, and what represents it there.
func (o *Observer[T]) findRemoteStates(ctx context.Context, s *decide.ObjectState[T], namespaces *mapping.Mapping) error {
	remotes, err := o.Remotes.RemotesFor(ctx, s.Key, namespaces.Destinations(s.Key.Namespace))
	if err != nil {
		return err
	}
	remotes = slices.DeleteFunc(remotes, func(remote T) bool {
		another := decide.Present(s.Local) && provenance.LocalOf(remote).UID != s.Local.GetUID()
		switch {
		case another && o.Kind.Holds != nil && o.Kind.Holds(remote):
			s.Held = append(s.Held, remote)
		case another:
			s.Duplicates = append(s.Duplicates, remote)
		}
		return another
	})
	if !o.Kind.Selection.Copies() {
		o.findPod(s, remotes, namespaces)
		return nil
	}
	s.RemoteStates, err = o.copies(ctx, s.Key, remotes, namespaces)
	return err
}

// copies returns the state of each destination where a copy should be. The states of copies elsewhere follow.
func (o *Observer[T]) copies(ctx context.Context, key types.NamespacedName, remotes []T, namespaces *mapping.Mapping) ([]decide.RemoteState[T], error) {
	places, otherwise, err := o.wanted(ctx, key, namespaces)
	if o.Kind.For != nil && len(places) > 1 {
		places = o.currentDestination(places, remotes)
	}
	var sites []decide.RemoteState[T]
	for _, place := range places {
		sites = append(sites, decide.RemoteState[T]{Destination: place, Wanted: true})
	}
	for _, remote := range remotes {
		name := client.ObjectKeyFromObject(remote)
		i := slices.IndexFunc(sites, func(site decide.RemoteState[T]) bool {
			return site.Wanted && o.Kind.RemoteName(site.Destination.Target, key) == name
		})
		if i < 0 {
			i, sites = len(sites), append(sites, decide.RemoteState[T]{})
		}
		sites[i].Remote = remote
	}
	switch {
	case len(places) > 0:
		return sites, err
	case len(remotes) > 0: // The first copy counts as the copy at that destination.
		sites[0].Destination, sites[0].Wanted = otherwise.Destination, otherwise.Wanted
		return sites, err
	default:
		return []decide.RemoteState[T]{otherwise}, err
	}
}

// findPod finds the remote pod. A pod stays where it was created, even if its namespace now goes elsewhere. If
// there are several remote pods, findPod chooses the pod that the local one names. The others are duplicates.
func (o *Observer[T]) findPod(s *decide.ObjectState[T], remotes []T, namespaces *mapping.Mapping) {
	s.RemoteStates = []decide.RemoteState[T]{{Destination: namespaces.Destination(s.Key.Namespace)}}
	site := &s.RemoteStates[0]
	at := o.Kind.RemoteName(site.Destination.Target, s.Key)
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
		site.Remote, s.Duplicates = remotes[0], append(s.Duplicates, remotes[1:]...)
		there = site.Remote.GetNamespace()
	} else if named.UID == "" || named.For != s.Local.GetUID() {
		return // It was never started. Otherwise it may exist without Spillway's labels.
	}
	if decide.Present(s.Local) {
		site.Destination = namespaces.DestinationIn(s.Key.Namespace, there)
	}
}

// currentDestination returns the destination of an object that can have one at a time: it stays where it is.
func (o *Observer[T]) currentDestination(places []decide.Destination, remotes []T) []decide.Destination {
	for _, remote := range remotes {
		for i := range places {
			if places[i].Namespace == o.Kind.For(remote) {
				return places[i : i+1]
			}
		}
	}
	return places[:1]
}
