package shard

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
)

// peerTable is what was seen of the Leases of the other replicas.
type peerTable struct {
	seen map[string]sighting // By the name of the Lease.
}

// sighting is a Lease, and since when, by our own clock, it is as it is.
type sighting struct {
	lease *coordinationv1.Lease
	since time.Time
}

func newPeerTable() *peerTable { return &peerTable{seen: map[string]sighting{}} }

// see notes which Leases there are now, but the one of that name.
func (t *peerTable) see(leases []coordinationv1.Lease, own string, now time.Time) {
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

// living are the identities of the replicas whose Leases have changed, or were seen
// first, within duration. One that was dead when we looked first counts as alive that
// long: to leave its bindings alone costs less than to try for those of one that lives.
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

// dead are the Leases that have not changed for that long.
func (t *peerTable) dead(now time.Time, long time.Duration) []*coordinationv1.Lease {
	var leases []*coordinationv1.Lease
	for _, s := range t.seen {
		if now.Sub(s.since) >= long {
			leases = append(leases, s.lease)
		}
	}
	return leases
}
