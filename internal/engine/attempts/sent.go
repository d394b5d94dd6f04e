package attempts

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// A provider may end fewEnds objects of one local namespace within soonEnded after they were sent, and one more
// per endInterval. After that, the next objects are held back. Then one object at a time is sent as a trial.
// The first is sent after firstTrial, each later one after twice as long, up to seldomTrials.
const (
	fewEnds      = 20
	endInterval  = 30 * time.Second
	soonEnded    = time.Minute
	firstTrial   = 10 * time.Second
	seldomTrials = 10 * time.Minute
	// endsForgotten is how long after its last early end a namespace is forgotten. By then, whoever wanted to
	// send has done so.
	endsForgotten = 2*seldomTrials + soonEnded
)

// Sent has the objects of one kind that were sent through a binding. If too many objects of a local namespace
// end early, Sent holds back the next ones. That ends when a trial lives for soonEnded with no early end
// meanwhile. Other namespaces do not wait, whoever caused the ends. Sent measures with the consumer's clock,
// because the provider writes the times in a status. It outlives the connection, so a provider gains nothing by
// ending connections.
type Sent struct {
	clock  clock.PassiveClock
	trials *throttle.Pacer

	mu      sync.Mutex
	objects map[types.NamespacedName]sending
	early   map[string]*earlyEnds // By local namespace.
}

type sending struct {
	uid types.UID
	at  time.Time
}

// earlyEnds has the early ends of one local namespace.
type earlyEnds struct {
	allowed flowcontrol.PassiveRateLimiter
	last    time.Time
	holds   bool      // The next objects are held back.
	tried   time.Time // When the first trial since last was sent. Zero if none was.
}

// NewSent returns an empty Sent.
func NewSent(clock clock.PassiveClock) *Sent {
	return &Sent{
		clock: clock, trials: throttle.New(firstTrial, seldomTrials, clock),
		objects: map[types.NamespacedName]sending{}, early: map[string]*earlyEnds{},
	}
}

// Wait returns how long the next object of a local namespace must wait. Zero means that it may be sent now.
func (s *Sent) Wait(namespace string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wait(namespace)
}

func (s *Sent) wait(namespace string) time.Duration {
	ends, ok := s.early[namespace]
	switch {
	case !ok || !ends.holds:
		return 0
	case ends.tried.IsZero():
		return s.trials.Wait(namespace)
	}
	lives := soonEnded - s.clock.Since(ends.tried)
	if lives <= 0 {
		ends.holds = false
		return 0
	}
	return min(lives, s.trials.Wait(namespace))
}

// Allow reports whether an object may be sent now. While others are held back, this object becomes a trial.
func (s *Sent) Allow(namespace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wait(namespace) > 0 {
		return false
	}
	if ends, ok := s.early[namespace]; ok && ends.holds {
		s.trials.Wrote(namespace)
	}
	return true
}

// Note notes that the local object of that UID was sent. If it was sent before, the earlier remote object ended
// before it showed anything.
func (s *Sent) Note(key types.NamespacedName, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended(key, uid)
	s.objects[key] = sending{uid, s.clock.Now()}
	if ends, ok := s.early[key.Namespace]; ok && ends.holds && ends.tried.IsZero() {
		ends.tried = s.clock.Now()
	}
}

// Ended notes that the provider has ended the remote object.
func (s *Sent) Ended(key types.NamespacedName, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended(key, uid)
	delete(s.objects, key)
}

func (s *Sent) ended(key types.NamespacedName, uid types.UID) {
	sent, ok := s.objects[key]
	if !ok || sent.uid != uid || s.clock.Since(sent.at) >= soonEnded {
		return
	}
	s.forgetOld()
	ends, ok := s.early[key.Namespace]
	if !ok {
		ends = &earlyEnds{allowed: flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(float32(1/endInterval.Seconds()), fewEnds, s.clock)}
		s.early[key.Namespace] = ends
	}
	ends.last, ends.tried = s.clock.Now(), time.Time{}
	if !ends.holds && !ends.allowed.TryAccept() {
		ends.holds = true
		s.trials.Wrote(key.Namespace)
	}
}

// forgetOld drops entries that no longer matter.
func (s *Sent) forgetOld() {
	maps.DeleteFunc(s.objects, func(_ types.NamespacedName, sent sending) bool { return s.clock.Since(sent.at) >= soonEnded })
	for namespace, ends := range s.early {
		if s.clock.Since(ends.last) >= endsForgotten {
			delete(s.early, namespace)
			s.trials.Forget(namespace)
		}
	}
}

func (s *Sent) forget(key types.NamespacedName) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}
