package virtualnode

import (
	"fmt"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/spillway-io/spillway/internal/ownwrites"
)

// restored detects that the consumer's etcd was restored from a backup under the
// manager: resource versions then go back. A watch continues from the last version that
// it has seen, which is now in the future, and shows nothing until the restored cluster
// has reached it; and what is in memory is about objects that may never have existed.
// So the manager must exit and start again.
//
// The leases of the virtual nodes reveal it: they are written every few seconds anyway.
type restored struct {
	mu   sync.Mutex
	seen map[string]*coordinationv1.Lease // By name, as it was last.
	said chan error
}

// signal receives the error with which the manager must exit.
func (r *restored) signal() <-chan error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.channel()
}

func (r *restored) channel() chan error {
	if r.said == nil {
		r.said = make(chan error, 1)
	}
	return r.said
}

// note checks a lease as the consumer last showed it.
func (r *restored) note(lease *coordinationv1.Lease) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	before, known := r.seen[lease.Name]
	if r.seen == nil {
		r.seen = map[string]*coordinationv1.Lease{}
	}
	r.seen[lease.Name] = lease.DeepCopy()
	if !known || !ownwrites.Older(lease, before) {
		return nil
	}
	err := fmt.Errorf("the consumer was restored from a backup (the version of Lease %s went back from %s to %s): all of it is read anew",
		lease.Name, before.ResourceVersion, lease.ResourceVersion)
	select {
	case r.channel() <- err:
	default: // Already signalled.
	}
	return err
}
