package syncer

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/decide"
	"github.com/spillway-io/spillway/internal/pace"
	"github.com/spillway-io/spillway/internal/step"
)

// How long what was refused waits for its next try, at first and at most.
const (
	firstRetry = 5 * time.Second
	mostRetry  = 5 * time.Minute
)

// How many statuses of one object are written at once, and how often after them:
// a provider changes them as often as it likes. A pod that begins and ends takes
// fewer.
const (
	fewStatuses    = 5
	statusInterval = time.Second
)

// memory is what a controller remembers of its objects. Losing it, with the
// connection or the process, costs one more try of what was refused.
type memory struct {
	clock   clock.PassiveClock
	backoff *flowcontrol.Backoff

	mu      sync.Mutex
	refused map[types.NamespacedName][]refusal // One for each namespace that a copy was to be in.
	lost    map[types.NamespacedName]types.UID
	// unanswered are the local objects whose creation may have been carried out: there
	// was no answer.
	unanswered map[types.NamespacedName]types.UID
	waiting    map[types.NamespacedName]waiting
	changed    map[types.NamespacedName]time.Time
	untold     map[types.NamespacedName]bool
	unkept     map[types.NamespacedName]attempt
	// sent are the local objects that this connection has sent.
	sent map[types.NamespacedName]sending

	// overtaken are the creations that meet conflicts.
	overtaken *step.Streaks[types.NamespacedName]
	// failing are the requests that meet server errors.
	failing *step.Streaks[types.NamespacedName]
	// statuses are the writes of them.
	statuses *pace.Allowance[types.NamespacedName]
	// brake is by the local namespace.
	brake *pace.Brake
}

type refusal struct {
	decide.Refused
	// version is that of the local object, which is tried at once when it has changed.
	version string
	// until is when it may be tried again.
	until time.Time
}

// waiting is a problem, by its reason, and since when there is it.
type waiting struct {
	reason string
	at     time.Time
}

func newMemory(clock clock.WithTicker) *memory {
	return &memory{
		clock:   clock,
		backoff: flowcontrol.NewBackOff(firstRetry, mostRetry),
		refused: map[types.NamespacedName][]refusal{},
		lost:    map[types.NamespacedName]types.UID{},

		unanswered: map[types.NamespacedName]types.UID{},

		waiting: map[types.NamespacedName]waiting{},
		changed: map[types.NamespacedName]time.Time{},
		untold:  map[types.NamespacedName]bool{},
		unkept:  map[types.NamespacedName]attempt{},
		sent:    map[types.NamespacedName]sending{},

		overtaken: step.NewConflicts[types.NamespacedName](),
		failing:   step.NewServerErrors[types.NamespacedName](),
		statuses:  pace.NewAllowance[types.NamespacedName](fewStatuses, statusInterval, clock),
		brake:     newBrake(clock),
	}
}

// noteRefused remembers what was refused, and reports whether that is news. Of what
// may pass the first text is kept: it may have a port or a count in it, and would be
// told again and again.
func (m *memory) noteRefused(key types.NamespacedName, version string, what decide.Refused) (isNews bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(key, what.In)
	isNews = i < 0 || m.refused[key][i].version != version || !isSame(&m.refused[key][i].Refused, &what)
	if !isNews && what.Passes() {
		what.Problem = m.refused[key][i].Problem
	}
	now, id := m.backoff.Clock.Now(), backoffID(key, what.In)
	m.backoff.Next(id, now)
	wait := m.backoff.Get(id)
	if what.Passes() || what.Verb == decide.Delete {
		wait = min(wait, step.ServerErrorWait)
	}
	m.drop(key, what.In)
	m.refused[key] = append(m.refused[key], refusal{what, version, now.Add(wait)})
	return isNews
}

// find is where the refusal is that is about a namespace, or -1.
func (m *memory) find(key types.NamespacedName, in string) int {
	return slices.IndexFunc(m.refused[key], func(r refusal) bool { return r.In == in })
}

// isRefused tells whether anything of an object is refused.
func (m *memory) isRefused(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.refused[key]) > 0
}

// anyRefused reports whether anything is refused of any object.
func (m *memory) anyRefused() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.refused) > 0
}

// refusedChange is the refusal of a change of the copy in a namespace of the
// provider, or nil.
func (m *memory) refusedChange(key types.NamespacedName, in string) *decide.Refused {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range m.refused[key] {
		if r.Verb == decide.Patch && (r.In == in || r.In == "") {
			return &r.Refused
		}
	}
	return nil
}

func (m *memory) drop(key types.NamespacedName, in string) {
	left := slices.DeleteFunc(m.refused[key], func(r refusal) bool { return r.In == in })
	if m.refused[key] = left; len(left) == 0 {
		delete(m.refused, key)
	}
}

func backoffID(key types.NamespacedName, in string) string { return key.String() + " " + in }

// isSame reports whether two refusals are one.
func isSame(r, other *decide.Refused) bool {
	return r.Verb == other.Verb && r.Subresource == other.Subresource && r.Reason == other.Reason && step.SameError(r.Message, other.Message)
}

// refusal is what was refused of an object in that version, in a namespace of the
// provider, or nil.
func (m *memory) refusal(key types.NamespacedName, version, in string) *decide.Refused {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(key, in)
	if i < 0 {
		return nil
	}
	found := m.refused[key][i]
	if found.version != version {
		m.forgive(key)
		return nil
	}
	what := found.Refused
	what.Wait = max(0, found.until.Sub(m.backoff.Clock.Now()))
	return &what
}

// succeeded forgets what was refused, if it was this. A change may be taken back
// again by who has done so before: for a while, the next refusal of one waits for
// as long as if this had been one.
func (m *memory) succeeded(key types.NamespacedName, verb decide.Verb, in string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if verb != decide.Read { // What can be read may still not be sent.
		m.overtaken.Forget(key)
	}
	if verb != decide.Read && verb != decide.PatchStatus { // A status says that something fails.
		m.failing.Forget(key)
	}
	if i := m.find(key, in); i >= 0 && m.refused[key][i].Verb == verb {
		m.drop(key, in)
		if verb != decide.Patch {
			m.backoff.DeleteEntry(backoffID(key, in))
		}
	}
}

func (m *memory) forgive(key types.NamespacedName) {
	for _, r := range m.refused[key] {
		m.backoff.DeleteEntry(backoffID(key, r.In))
	}
	delete(m.refused, key)
}

// noteLost remembers that the provider has been asked for the remote object of
// the local one of that UID, and has none.
func (m *memory) noteLost(key types.NamespacedName, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lost[key] = uid
}

// noteUnanswered remembers that nobody knows what has become of the creation of the
// remote object; an empty UID: it is known.
func (m *memory) noteUnanswered(key types.NamespacedName, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if uid == "" {
		delete(m.unanswered, key)
	} else {
		m.unanswered[key] = uid
	}
}

func (m *memory) isUnanswered(key types.NamespacedName, uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unanswered[key] == uid
}

func (m *memory) isLost(key types.NamespacedName, uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lost[key] == uid
}

// since is which problem an object has, by its reason, and for how long.
func (m *memory) since(key types.NamespacedName) (reason string, waited time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if problem, ok := m.waiting[key]; ok {
		return problem.reason, m.clock.Since(problem.at)
	}
	return "", 0
}

// noteWaiting remembers since when an object has had a problem, if it has one.
// Another problem begins anew: one that passes soon is not reported because of
// one that has lasted.
func (m *memory) noteWaiting(key types.NamespacedName, problem *decide.Problem) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if problem == nil {
		delete(m.waiting, key)
	} else if m.waiting[key].reason != problem.Reason {
		m.waiting[key] = waiting{problem.Reason, m.clock.Now()}
	}
}

// noteUnkept remembers a change of a status that an API server has not kept.
func (m *memory) noteUnkept(key types.NamespacedName, change attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unkept[key] = change
}

// unkeptOf is the last change of a status that was not kept, if there was one.
func (m *memory) unkeptOf(key types.NamespacedName) (change attempt, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	change, ok = m.unkept[key]
	return change, ok
}

// noteRemoteChange remembers when the first change of the remote object came in
// that the local one does not show yet.
func (m *memory) noteRemoteChange(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.changed[key]; !ok {
		m.changed[key] = m.clock.Now()
	}
}

// takeRemoteChange is when that was, or zero if there was none, and forgets it.
func (m *memory) takeRemoteChange(key types.NamespacedName) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.changed[key]
	delete(m.changed, key)
	return at
}

// noteShown forgets a change of the remote object that had come in when it was
// observed, at that moment: there was nothing of it to show, or it is shown.
func (m *memory) noteShown(key types.NamespacedName, observed time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, ok := m.changed[key]; ok && !at.After(observed) {
		delete(m.changed, key)
	}
}

// noteUntold remembers that what needs an object is to be told of it.
func (m *memory) noteUntold(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.untold[key] = true
}

func (m *memory) isUntold(key types.NamespacedName) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.untold[key]
}

// noteTold remembers that it has been.
func (m *memory) noteTold(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.untold, key)
}

// forget drops all that is remembered of an object that is gone.
func (m *memory) forget(key types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgive(key)
	delete(m.lost, key)
	delete(m.unanswered, key)
	delete(m.waiting, key)
	delete(m.changed, key)
	delete(m.unkept, key)
	delete(m.sent, key)
	m.overtaken.Forget(key)
	m.failing.Forget(key)
	m.statuses.Forget(key)
}
