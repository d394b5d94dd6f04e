package placement

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestSharing checks which bindings share a provider with the binding us, created an hour after the others,
// and which only claim to.
func TestSharing(t *testing.T) {
	of := func(name, uid string, authorities ...string) *builder.BindingBuilder {
		return builder.Binding(name).Pinned(uid).Authorities(authorities...)
	}
	names := func(bindings []*v1alpha1.ClusterBinding) []string {
		var all []string
		for _, b := range bindings {
			all = append(all, b.Name)
		}
		return all
	}
	for name, test := range map[string]struct {
		other                  *builder.BindingBuilder
		sharing, contradicting []string
	}{
		"the same":                                   {of("eu", "uid", "ca"), []string{"eu"}, nil},
		"another":                                    {of("eu", "other", "ca"), nil, nil},
		"another that is not known":                  {of("eu", ""), nil, nil},
		"somebody who says it is":                    {of("eu", "uid", "its own"), nil, []string{"eu"}},
		"by an authority that is gone":               {of("eu", "uid", "older", "ca"), []string{"eu"}, nil},
		"one that nobody vouches for":                {of("eu", "uid"), nil, []string{"eu"}},
		"not connected":                              {of("eu", "uid", "ca").Unreachable("no route"), []string{"eu"}, nil},
		"not connected, and somebody who says it is": {of("eu", "uid", "its own").Unreachable("no route"), nil, []string{"eu"}},
		"one that goes":                              {of("eu", "uid", "ca").Deleted(0), nil, nil},
		"one that goes and says it is":               {of("eu", "uid", "its own").Deleted(0), nil, nil},
		"a younger one":                              {of("eu", "uid", "ca").Created(2 * time.Hour), nil, nil},
		"a younger one that says it is":              {of("eu", "uid", "its own").Created(2 * time.Hour), nil, []string{"eu"}},
		"one of the same clusterID":                  {of("eu", "uid", "its own").ClusterID("us"), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			us := of("us", "uid", "ca", "next").Created(time.Hour).Obj()
			all := NewIndex([]v1alpha1.ClusterBinding{*us, *test.other.Obj()})
			if diff := cmp.Diff(test.sharing, names(all.Older(us))); diff != "" {
				t.Errorf("shared with (-want +got)\n%s", diff)
			}
			if diff := cmp.Diff(test.contradicting, names(all.Contradicting(us))); diff != "" {
				t.Errorf("contradicted by (-want +got)\n%s", diff)
			}
			if eu := test.other.Obj(); SameProvider(us, eu) != SameProvider(eu, us) {
				t.Error("it is the same from one side only")
			}
		})
	}
}

// TestOldestFirst checks that the oldest of several bindings is named, and takes precedence.
func TestOldestFirst(t *testing.T) {
	at := func(name string, after time.Duration, authority string) v1alpha1.ClusterBinding {
		return *builder.Binding(name).Pinned("uid").Authorities(authority).Created(after).Obj()
	}
	us := at("us", 9*time.Hour, "ca")
	all := NewIndex([]v1alpha1.ClusterBinding{at("c", 3*time.Hour, "ca"), at("z", 6*time.Hour, "other"), at("a", time.Hour, "ca"), us, at("y", 4*time.Hour, "other"), at("b", 2*time.Hour, "ca"), at("x", 5*time.Hour, "other")})
	for what, test := range map[string]struct {
		got  []*v1alpha1.ClusterBinding
		want []string
	}{
		"shared with":     {all.Older(&us), []string{"a", "b", "c"}},
		"contradicted by": {all.Contradicting(&us), []string{"y", "x", "z"}},
	} {
		var got []string
		for _, b := range test.got {
			got = append(got, b.Name)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", what, diff)
		}
	}
}

// TestIndexByPairs checks that an Index gives the same answers as comparing each pair of bindings.
func TestIndexByPairs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		var all []v1alpha1.ClusterBinding
		for i := range random.IntN(8) {
			b := builder.Binding(fmt.Sprint("b", i)).ClusterID(fmt.Sprint("c", random.IntN(6))).Created(time.Duration(random.IntN(3)) * time.Hour).
				Pinned([]string{"", "u1", "u2"}[random.IntN(3)]).Authorities([]string{"ca1", "ca2"}[:random.IntN(3)]...)
			if random.IntN(5) == 0 {
				b = b.Deleted(0)
			}
			all = append(all, *b.Obj())
		}
		index := NewIndex(all)
		for i := range all {
			us := &all[i]
			var sharing, contradicting []*v1alpha1.ClusterBinding
			for j := range all {
				other := &all[j]
				duplicate := func(b v1alpha1.ClusterBinding) bool {
					return b.Spec.ClusterID == other.Spec.ClusterID && Older(&b, other) < 0
				}
				switch {
				case slices.ContainsFunc(all, duplicate), !other.DeletionTimestamp.IsZero():
				case SameProvider(us, other) && Older(other, us) < 0:
					sharing = append(sharing, other)
				case SameIdentity(us, other) && !SameProvider(us, other):
					contradicting = append(contradicting, other)
				}
			}
			slices.SortFunc(sharing, Older)
			slices.SortFunc(contradicting, Older)
			if got := index.Older(us); !slices.Equal(got, sharing) {
				t.Fatalf("%s of %+v shares with %v, want %v", us.Name, all, got, sharing)
			}
			if got := index.Contradicting(us); !slices.Equal(got, contradicting) {
				t.Fatalf("%s of %+v is contradicted by %v, want %v", us.Name, all, got, contradicting)
			}
		}
	}
}

func TestIdentified(t *testing.T) {
	before := builder.Binding("eu").Pinned("uid").Authorities("ca").Obj()
	for name, test := range map[string]struct {
		after *builder.BindingBuilder
		want  bool
	}{
		"as before":            {builder.Binding("eu").Pinned("uid").Authorities("ca").Unreachable("no route"), false},
		"another":              {builder.Binding("eu").Pinned("other").Authorities("ca"), true},
		"one authority more":   {builder.Binding("eu").Pinned("uid").Authorities("ca", "next"), true},
		"an authority instead": {builder.Binding("eu").Pinned("uid").Authorities("next"), true},
	} {
		if got := Identified(before, test.after.Obj()); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
