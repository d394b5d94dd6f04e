package memory

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/throttle"
)

// How many objects of one local namespace a provider may end soon after they were
// sent before the next are held back: so many at once, and one in each interval.
// Then one is sent at a time, first after a while, in the end as seldom as can be.
const (
	fewEnds      = 20
	endInterval  = 30 * time.Second
	soonEnded    = time.Minute
	firstTrial   = 10 * time.Second
	seldomTrials = 10 * time.Minute
)

// Sent are the local objects that this connection has sent. By our own clock, for
// what the provider says of that decides nothing, it holds back the next of a local
// namespace when too many of it have ended soon. Nobody else waits, whoever has
// brought it about.
type Sent struct {
	clock clock.PassiveClock
	brake *throttle.Brake

	mu      sync.Mutex
	objects map[types.NamespacedName]sending
}

type sending struct {
	uid types.UID
	at  time.Time
}

func newSent(clock clock.PassiveClock) *Sent {
	return &Sent{
		clock: clock,
		brake: throttle.NewBrake(throttle.NewAllowance[string](fewEnds, endInterval, clock),
			throttle.New(firstTrial, seldomTrials, clock), soonEnded, clock),
		objects: map[types.NamespacedName]sending{},
	}
}

// Wait is how long the next object of a local namespace has to wait; zero if it may
// be sent now.
func (s *Sent) Wait(namespace string) time.Duration { return s.brake.Wait(namespace) }

// MayGo reports whether one may be sent now. While they are held back, it is one of
// all that ask.
func (s *Sent) MayGo(namespace string) bool { return s.brake.Take(namespace) }

// Note notes that the local object of that UID was sent. If it was before, that one
// has gone before anything of it was shown here.
func (s *Sent) Note(key types.NamespacedName, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended(key, uid)
	s.objects[key] = sending{uid, s.clock.Now()}
	s.brake.Sent(key.Namespace)
}

// Ended notes that the provider has ended it. What an earlier connection has sent
// counts for nothing.
func (s *Sent) Ended(key types.NamespacedName, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended(key, uid)
	delete(s.objects, key)
}

func (s *Sent) ended(key types.NamespacedName, uid types.UID) {
	if sent, ok := s.objects[key]; ok && sent.uid == uid {
		s.brake.Ended(key.Namespace, s.clock.Since(sent.at))
	}
}

func (s *Sent) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}
