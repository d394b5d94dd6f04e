package shard

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
)

// peerTable is what was seen of the other replicas' Leases.
type peerTable struct {
	seen map[string]sighting // By the name of the Lease.
}

// sighting is a Lease, and since when it is unchanged, by our own clock.
type sighting struct {
	lease *coordinationv1.Lease
	since time.Time
}

func newPeerTable() *peerTable { return &peerTable{seen: map[string]sighting{}} }

// observe notes which Leases exist now, except for the one named own.
func (t *peerTable) observe(leases []coordinationv1.Lease, own string, now time.Time) {
	seen := make(map[string]sighting, len(leases))
	for i := range leases {
		lease := &leases[i]
		before, known := t.seen[lease.Name]
		switch {
		case lease.Name == own:
		case known && before.lease.UID == lease.UID && before.lease.ResourceVersion == lease.ResourceVersion:
			seen[lease.Name] = before
		default:
			seen[lease.Name] = sighting{lease, now}
		}
	}
	t.seen = seen
}

// living returns the identities of the replicas whose Leases changed, or were first seen, within duration. A
// replica that is dead when it is first seen counts as alive that long. It costs less to leave its bindings
// alone than to compete with a living replica.
func (t *peerTable) living(now time.Time, duration time.Duration) []string {
	var identities []string
	for _, s := range t.seen {
		if identity := ptr.Deref(s.lease.Spec.HolderIdentity, ""); identity != "" && now.Sub(s.since) < duration {
			identities = append(identities, identity)
		}
	}
	slices.Sort(identities)
	return slices.Compact(identities)
}

// dead returns the Leases that have not changed for that long.
func (t *peerTable) dead(now time.Time, long time.Duration) []*coordinationv1.Lease {
	var leases []*coordinationv1.Lease
	for _, s := range t.seen {
		if now.Sub(s.since) >= long {
			leases = append(leases, s.lease)
		}
	}
	return leases
}
