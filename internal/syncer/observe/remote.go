package observe

import (
	"cmp"
	"context"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/decide/mapping"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/seeded"
)

// remote finds what stands for the local object in the provider, and whether it is
// where it should be.
func (o *Observer[T]) remote(ctx context.Context, s *decide.Snapshot[T], namespaces *mapping.Mapping) error {
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
	if o.Kind.Selection.Copies() && decide.Present(s.Local) {
		o.copies(s, remotes)
	} else {
		o.one(s, remotes, namespaces)
	}
	return nil
}

// one picks the remote object that stands for the local one, of which there is
// one. Where it went was decided when it was made, and it stays there, wherever
// its namespace goes now. Should there be several, it is the one that the local
// object names.
func (o *Observer[T]) one(s *decide.Snapshot[T], remotes []T, namespaces *mapping.Mapping) {
	at := o.Kind.RemoteName(s.Place.Target, s.Key)
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
		s.Place = namespaces.PlaceIn(s.Key.Namespace, there)
	}
}

// copies finds the copy of each site.
func (o *Observer[T]) copies(s *decide.Snapshot[T], remotes []T) {
	if o.Kind.For != nil && len(s.Sites) > 1 {
		s.Sites = o.only(s.Sites, remotes)
	}
	for _, remote := range remotes {
		name := client.ObjectKeyFromObject(remote)
		i := slices.IndexFunc(s.Sites, func(site decide.Site[T]) bool { return o.Kind.RemoteName(site.Place.Target, s.Key) == name })
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
func (o *Observer[T]) only(sites []decide.Site[T], remotes []T) []decide.Site[T] {
	for _, remote := range remotes {
		for i := range sites {
			if sites[i].Place.Namespace == o.Kind.For(remote) {
				return sites[i : i+1]
			}
		}
	}
	return sites[:1]
}
