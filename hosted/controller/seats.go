package controller

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

// How many clusters are worked on at a time. A cloud that does not answer keeps a worker busy for minutes. So
// the clusters of one account may only use a few workers, and the others remain for all other accounts.
const (
	// workers is how many clusters of all accounts are worked on at a time.
	workers = 64
	// mostSeats is how many of one account. The limit on the requests of an account allows no more than that.
	mostSeats = 4
	// hungSeats is how many of an account whose cloud did not answer in time.
	hungSeats = 1
	// probeFor is how long only one of its clusters is read. For all others, only tokens are renewed. Otherwise each
	// would hold the only seat for minutes, and tokens would expire.
	probeFor = 2 * time.Minute
)

// account returns what the requests for a cluster depend on: its credentials, and the endpoint of its cloud.
func account(h *v1alpha1.HostedCluster) string {
	endpoint := "GKE"
	switch {
	case h.Spec.EKSConfig != nil:
		endpoint = "EKS " + h.Spec.EKSConfig.Region
	case h.Spec.AKSConfig != nil:
		endpoint = "AKS"
	}
	switch credentials := h.Spec.Credentials; {
	case credentials.WorkloadIdentity != nil:
		return fmt.Sprint(endpoint, " identity ", *credentials.WorkloadIdentity)
	case credentials.SecretRef != nil:
		return endpoint + " Secret " + credentials.SecretRef.Name
	default:
		return endpoint
	}
}

// seats limits how many clusters of an account are worked on at a time. A cluster that finds no seat waits
// without a worker. The zero value is ready to use.
type seats struct {
	lock  sync.Mutex
	rooms map[string]*room
	// called has the clusters that waited and now have a seat, with its account.
	called map[reconcile.Request]string
	// call enqueues a cluster.
	call func(reconcile.Request)
}

// room has the seats of an account.
type room struct {
	taken   int
	hung    bool
	waiting []reconcile.Request
	// probe is the cluster that was last read, and probed is when the cloud has answered, or was given up.
	probe  reconcile.Request
	probed time.Time
}

func (r *room) free() bool {
	if r.hung {
		return r.taken < hungSeats
	}
	return r.taken < mostSeats
}

// take takes a seat. If there is none, the cluster is enqueued again once it has one.
func (s *seats) take(of reconcile.Request, account string) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	if at, ok := s.called[of]; ok {
		delete(s.called, of)
		if at == account {
			return true
		}
		s.free(at)
	}
	r := s.rooms[account]
	if r == nil {
		r = &room{}
		if s.rooms == nil {
			s.rooms, s.called = map[string]*room{}, map[reconcile.Request]string{}
		}
		s.rooms[account] = r
	}
	if r.free() {
		r.taken++
		return true
	}
	if !slices.Contains(r.waiting, of) {
		r.waiting = append(r.waiting, of)
	}
	return false
}

// mayRead reports whether a cluster that has a seat may be read. If the cloud is hung, this is so for one cluster,
// which finds out whether the cloud answers again. If that cluster does not come for a while, another one does it.
// probe is the cluster that is read.
func (s *seats) mayRead(of reconcile.Request, account string, now time.Time) (probe reconcile.Request, may bool) {
	s.lock.Lock()
	defer s.lock.Unlock()
	r := s.rooms[account]
	if r.hung && r.probe != of && now.Sub(r.probed).Abs() < probeFor {
		return r.probe, false
	}
	r.probe, r.probed = of, now
	return of, true
}

// heard notes whether the cloud has answered a cluster that has a seat. hung says that it did not, in time. A read may
// take longer than probeFor, so that counts from its end.
func (s *seats) heard(account string, hung bool, now time.Time) {
	s.lock.Lock()
	defer s.lock.Unlock()
	r := s.rooms[account]
	r.hung, r.probed = hung, now
}

// leave gives the seat back.
func (s *seats) leave(account string) {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.free(account)
}

// gone gives back the seat of a cluster whose object has gone while it waited.
func (s *seats) gone(of reconcile.Request) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if at, ok := s.called[of]; ok {
		delete(s.called, of)
		s.free(at)
	}
}

// free frees a seat, and calls clusters that wait.
func (s *seats) free(account string) {
	r := s.rooms[account]
	r.taken--
	for len(r.waiting) > 0 && r.free() {
		next := r.waiting[0]
		r.waiting = r.waiting[1:]
		if _, ok := s.called[next]; ok {
			// It waited in another room, too, and has a seat there. It gives that one back when it comes.
			continue
		}
		r.taken++
		s.called[next] = account
		s.call(next)
	}
	if r.taken == 0 && len(r.waiting) == 0 && !r.hung {
		delete(s.rooms, account)
	}
}
