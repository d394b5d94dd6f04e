package shard

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
)

// Assign assigns each binding to a replica. owners has every binding, with the replica that holds it now, or
// "".
//
// Each replica gets its share: the number of bindings divided by the number of replicas, rounded down or up.
// A binding stays where it is unless its replica is gone or has more than its share. The other bindings go to
// the replica with the highest hash for them that has room. So, once each replica has its share,
//
//   - a new replica gets its share, rounded down, and nothing else moves;
//   - a removed replica loses its bindings, and nothing else moves;
//   - a new binding moves no other, and a removed binding at most one.
//
// The result does not change while bindings move and some replicas are already recorded as their new holders.
func Assign(replicas []string, owners map[string]string) map[string]string {
	replicas = slices.Compact(slices.Sorted(slices.Values(replicas)))
	if len(replicas) == 0 {
		return map[string]string{}
	}
	table := newTable(len(replicas), len(owners))
	for _, p := range pairs(replicas, owners) {
		table.take(p)
	}
	return table.assigned
}

// table records which replica has which binding.
type table struct {
	assigned map[string]string
	load     map[string]int
	// share is how many bindings each replica gets at least. more is how many replicas may still get one
	// more.
	share, more int
}

func newTable(replicas, bindings int) *table {
	return &table{
		assigned: make(map[string]string, bindings), load: make(map[string]int, replicas),
		share: bindings / replicas, more: bindings % replicas,
	}
}

// take assigns the binding to the replica, unless the binding is already assigned or the replica is full.
func (t *table) take(p pair) {
	if _, taken := t.assigned[p.binding]; taken {
		return
	}
	switch load := t.load[p.replica]; {
	case load < t.share:
	case load == t.share && t.more > 0:
		t.more--
	default:
		return
	}
	t.load[p.replica]++
	t.assigned[p.binding] = p.replica
}

// pair is a binding with a replica that may get it.
type pair struct {
	binding, replica string
	holds            bool
	score            uint64
}

// pairs returns all possible pairs, the best first: first those that exist already, then by score.
func pairs(replicas []string, owners map[string]string) []pair {
	all := make([]pair, 0, len(replicas)*len(owners))
	for _, binding := range slices.Sorted(maps.Keys(owners)) {
		for _, replica := range replicas {
			all = append(all, pair{binding, replica, owners[binding] == replica, score(binding, replica)})
		}
	}
	slices.SortStableFunc(all, func(a, b pair) int {
		if a.holds != b.holds {
			if a.holds {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.score, a.score)
	})
	return all
}

// score returns the same value in every process. Each bit depends on all characters of both names, because
// the names of a StatefulSet's replicas differ only in the last character.
func score(binding, replica string) uint64 {
	sum := sha256.Sum256([]byte(binding + "\x00" + replica))
	return binary.BigEndian.Uint64(sum[:])
}
