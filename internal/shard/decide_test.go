package shard

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAssign(t *testing.T) {
	tests := map[string]struct {
		replicas []string
		owners   map[string]string
		want     map[string]string
	}{
		"nothing, by nobody": {nil, nil, map[string]string{}},
		"by nobody":          {nil, map[string]string{"eu": "gone"}, map[string]string{}},
		"nothing":            {[]string{"a"}, nil, map[string]string{}},
		"by one":             {[]string{"a"}, map[string]string{"eu": "", "us": "gone"}, map[string]string{"eu": "a", "us": "a"}},
		"a name said twice":  {[]string{"a", "a"}, map[string]string{"eu": ""}, map[string]string{"eu": "a"}},
		"as it is": {[]string{"a", "b"}, map[string]string{"1": "a", "2": "a", "3": "b", "4": "b"},
			map[string]string{"1": "a", "2": "a", "3": "b", "4": "b"}},
		"as it is, the other way round": {[]string{"a", "b"}, map[string]string{"1": "b", "2": "b", "3": "a", "4": "a"},
			map[string]string{"1": "b", "2": "b", "3": "a", "4": "a"}},
		"one of a replica that is gone": {[]string{"a", "b"}, map[string]string{"1": "a", "2": "a", "3": "b", "4": "gone"},
			map[string]string{"1": "a", "2": "a", "3": "b", "4": "b"}},
		"one that nobody has": {[]string{"a", "b"}, map[string]string{"1": "a", "2": "b", "3": "b", "4": ""},
			map[string]string{"1": "a", "2": "b", "3": "b", "4": "a"}},
		"more replicas than bindings": {[]string{"a", "b", "c"}, map[string]string{"1": "b"}, map[string]string{"1": "b"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Assign(test.replicas, test.owners)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHashDecides pins the hash, because replicas of two versions have to agree during an upgrade.
func TestHashDecides(t *testing.T) {
	got := Assign([]string{"manager-0", "manager-1", "manager-2"}, unowned(6))
	want := map[string]string{
		"provider-0": "manager-2", "provider-1": "manager-0", "provider-2": "manager-1",
		"provider-3": "manager-2", "provider-4": "manager-1", "provider-5": "manager-0",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func unowned(bindings int) map[string]string {
	owners := map[string]string{}
	for i := range bindings {
		owners[fmt.Sprintf("provider-%d", i)] = ""
	}
	return owners
}

// world is a test case: some replicas, some bindings, and the holder of each.
type world struct {
	random   *rand.Rand
	replicas []string
	owners   map[string]string
}

func newWorld(seed uint64) *world {
	w := &world{random: rand.New(rand.NewPCG(seed, 1))} //nolint:gosec // It only has to be the same each time.
	for i := range 1 + w.random.IntN(6) {
		w.replicas = append(w.replicas, fmt.Sprintf("replica-%d-%d", seed, i))
	}
	w.owners = unowned(w.random.IntN(40))
	return w
}

// disturb assigns each binding to any replica, or to none.
func (w *world) disturb() {
	for binding := range w.owners {
		switch i := w.random.IntN(len(w.replicas) + 2); {
		case i < len(w.replicas):
			w.owners[binding] = w.replicas[i]
		case i == len(w.replicas):
			w.owners[binding] = "gone"
		}
	}
}

// each calls check for many worlds.
func each(t *testing.T, check func(*testing.T, *world)) {
	for seed := range uint64(200) {
		w := newWorld(seed)
		check(t, w)
		if t.Failed() {
			t.Fatalf("seed %d: %d bindings, replicas %v", seed, len(w.owners), w.replicas)
		}
	}
}

func loads(assigned map[string]string) map[string]int {
	loads := map[string]int{}
	for _, replica := range assigned {
		loads[replica]++
	}
	return loads
}

func moved(before, after map[string]string) int {
	count := 0
	for binding, replica := range after {
		if was, known := before[binding]; known && was != replica {
			count++
		}
	}
	return count
}

// checkShares fails unless each binding has a live replica, and no replica has more than its share.
func checkShares(t *testing.T, w *world, assigned map[string]string) {
	t.Helper()
	if len(assigned) != len(w.owners) {
		t.Errorf("%d of %d bindings are assigned", len(assigned), len(w.owners))
	}
	for binding, replica := range assigned {
		if _, known := w.owners[binding]; !known || !slices.Contains(w.replicas, replica) {
			t.Errorf("%q is assigned to %q", binding, replica)
		}
	}
	least := len(w.owners) / len(w.replicas)
	most := (len(w.owners) + len(w.replicas) - 1) / len(w.replicas)
	all := loads(assigned)
	for _, replica := range w.replicas {
		if n := all[replica]; n < least || n > most {
			t.Errorf("%s has %d bindings, want %d to %d", replica, n, least, most)
		}
	}
}

func TestEachBindingHasOneReplicaAndEachReplicaItsShare(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		checkShares(t, w, Assign(w.replicas, w.owners))
		w.disturb()
		checkShares(t, w, Assign(w.replicas, w.owners))
	})
}

func TestOrderDoesNotMatter(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.disturb()
		want := Assign(w.replicas, w.owners)
		w.random.Shuffle(len(w.replicas), func(i, j int) { w.replicas[i], w.replicas[j] = w.replicas[j], w.replicas[i] })
		if diff := cmp.Diff(want, Assign(w.replicas, maps.Clone(w.owners))); diff != "" {
			t.Errorf("in another order (-want +got):\n%s", diff)
		}
	})
}

func TestWhatIsSettledStays(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.disturb()
		settled := Assign(w.replicas, w.owners)
		if diff := cmp.Diff(settled, Assign(w.replicas, settled)); diff != "" {
			t.Errorf("asked again (-want +got):\n%s", diff)
		}
	})
}

// TestTheWayThereLeadsThere moves the bindings one by one, in any order.
func TestTheWayThereLeadsThere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.disturb()
		want := Assign(w.replicas, w.owners)
		bindings := slices.Sorted(maps.Keys(w.owners))
		w.random.Shuffle(len(bindings), func(i, j int) { bindings[i], bindings[j] = bindings[j], bindings[i] })
		for _, binding := range bindings {
			w.owners[binding] = want[binding]
			if diff := cmp.Diff(want, Assign(w.replicas, w.owners)); diff != "" {
				t.Errorf("after %s was taken over (-want +got):\n%s", binding, diff)
				return
			}
		}
	})
}

func TestAReplicaMoreTakesItsShare(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		before := Assign(w.replicas, w.owners)
		w.replicas = append(w.replicas, "another")
		after := Assign(w.replicas, before)
		checkShares(t, w, after)
		if got, want := moved(before, after), len(before)/len(w.replicas); got != want || loads(after)["another"] != want {
			t.Errorf("%d have moved, want %d, and all of them to the new one, which has %d", got, want, loads(after)["another"])
		}
	})
}

func TestAReplicaLessGivesAwayWhatItHad(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		if len(w.replicas) == 1 {
			return
		}
		before := Assign(w.replicas, w.owners)
		gone := w.replicas[0]
		w.replicas = w.replicas[1:]
		after := Assign(w.replicas, before)
		checkShares(t, w, after)
		if got, want := moved(before, after), loads(before)[gone]; got != want {
			t.Errorf("%d have moved, want the %d of %s", got, want, gone)
		}
	})
}

func TestABindingMoreMovesNoneAndOneLessAtMostOne(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		before := Assign(w.replicas, w.owners)
		more := maps.Clone(before)
		more["another"], w.owners["another"] = "", ""
		after := Assign(w.replicas, more)
		checkShares(t, w, after)
		if got := moved(before, after); got != 0 {
			t.Errorf("%d have moved for a new binding", got)
		}
		for binding := range before {
			less := maps.Clone(before)
			delete(less, binding)
			if got := moved(before, Assign(w.replicas, less)); got > 1 {
				t.Errorf("%d have moved when %s went", got, binding)
			}
		}
	})
}

// TestOrderOfReplicas checks that a replica which is listed first, or twice, gets no more bindings for that.
func TestOrderOfReplicas(t *testing.T) {
	owners := map[string]string{"a": "", "b": "", "c": "", "d": "", "e": "", "f": ""}
	if diff := cmp.Diff(Assign([]string{"r0", "r1", "r2"}, owners), Assign([]string{"r2", "r0", "r1", "r0", "r2"}, owners)); diff != "" {
		t.Errorf("(-once +twice):\n%s", diff)
	}
}
