// Package shard decides, without any I/O, which replica of the manager works for
// which ClusterBinding.
//
// Every replica decides for itself, out of the same facts: which replicas live, and
// who holds which binding now. Two that see these facts at different moments may
// differ for a while. That costs a try, and no write: the Lease in each provider
// says who writes there.
package shard

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"maps"
	"slices"
)

// Assign gives each binding to one of the replicas. owners has every binding, with the
// replica that holds it now, or "".
//
// Each replica gets its share: the number of bindings divided by that of the replicas,
// rounded down or up. A binding stays where it is unless its replica is gone, or has
// more than its share. The others go to the replica that hashes highest with them
// and has room. So, once each replica has its share,
//
//   - a replica more takes its share, rounded down, and nothing else moves;
//   - a replica less gives away what it had, and nothing else moves;
//   - a binding more moves none, and a binding less at most one.
//
// While bindings are on their way, and some replicas are recorded as holders already,
// the answer does not change: what is taken then is part of it.
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

// table is who has which binding so far.
type table struct {
	assigned map[string]string
	load     map[string]int
	// share is what each replica has at least, in the end, and more how many of them
	// may have one more.
	share, more int
}

func newTable(replicas, bindings int) *table {
	return &table{
		assigned: make(map[string]string, bindings), load: make(map[string]int, replicas),
		share: bindings / replicas, more: bindings % replicas,
	}
}

// take gives the binding to the replica, if nobody has it and there is room.
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

// pair is a binding with a replica that may have it.
type pair struct {
	binding, replica string
	holds            bool
	score            uint64
}

// pairs are all that are possible, the best first: what a replica holds already, and
// then by score.
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

// score is the same in every process. Each bit of it depends on all of both names:
// replicas of a StatefulSet differ in their last character only.
func score(binding, replica string) uint64 {
	sum := sha256.Sum256([]byte(binding + "\x00" + replica))
	return binary.BigEndian.Uint64(sum[:])
}
