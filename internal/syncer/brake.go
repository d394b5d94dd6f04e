package syncer

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/pace"
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

func newBrake(clock clock.PassiveClock) *pace.Brake {
	return pace.NewBrake(pace.NewAllowance[string](fewEnds, endInterval, clock),
		pace.New(firstTrial, seldomTrials, clock), soonEnded, clock)
}

// sending is when an object was sent, by our own clock: what the provider says
// of that decides nothing.
type sending struct {
	uid types.UID
	at  time.Time
}

// mayGo reports whether an action may be carried out: of those that send, one at a
// time while the next are held back.
func (c *kindController[T]) mayGo(s decide.Snapshot[T], a decide.Action) bool {
	return c.Ended == nil || a.Verb != decide.Create || a.Side != decide.Remote || c.memory.brake.Take(s.Key.Namespace)
}

// brake notes what was sent, and what the provider has ended of it. It counts for
// the local namespace alone: nobody else waits, whoever has brought it about.
func (c *kindController[T]) brake(s decide.Snapshot[T], a decide.Action) {
	if c.Ended == nil || !decide.Present(s.Local) {
		return
	}
	switch {
	case a.Verb == decide.Create && a.Side == decide.Remote:
		c.memory.noteSent(s.Key, s.Local.GetUID())
	case a.Verb == decide.PatchStatus && a.Side == decide.Local && c.Ended(s.Local, a.Object):
		c.memory.noteEnded(s.Key, s.Local.GetUID())
	}
}

// noteSent remembers when the local object of that UID was sent. If it was before,
// that one has gone before anything of it was shown here.
func (m *memory) noteSent(key types.NamespacedName, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if sent := m.sent[key]; sent.uid == uid {
		m.brake.Ended(key.Namespace, m.clock.Since(sent.at))
	}
	m.sent[key] = sending{uid, m.clock.Now()}
	m.brake.Sent(key.Namespace)
}

// noteEnded forgets that again. What an earlier connection has sent counts for nothing.
func (m *memory) noteEnded(key types.NamespacedName, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if sent := m.sent[key]; sent.uid == uid {
		m.brake.Ended(key.Namespace, m.clock.Since(sent.at))
	}
	delete(m.sent, key)
}
