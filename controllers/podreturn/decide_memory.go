package podreturn

import (
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
)

// memory is what is remembered about a namespace. It is lost with the process.
type memory struct {
	uid   types.UID
	rooms spill.Rooms
	// last is the last return, which the status may not show yet.
	last spill.Returned
	// fresh reports that last was just read from the status.
	fresh bool
	// behind are the ReplicaSets of pods whose returns failed, the last one last. Only mostBehind stay.
	behind []string
	// unsure is a pod that may have been evicted at asked: the API server's answer was lost.
	unsure *Pod
	asked  time.Time
	// unknown is since when it is not known what is on the nodes; zero: it is.
	unknown time.Time
	// told is when the reason of the condition changed last.
	told time.Time
	// refused has the pods that the API server refused to evict, and next is when it is asked again at the earliest.
	refused map[types.UID]refusal
	next    time.Time
	// restored is when this process first saw a condition that an earlier one had written.
	restored time.Time
}

type refusal struct {
	answer string
	tries  int
	retry  time.Time
}

const (
	// firstRetry and mostRetry pace the evictions of a pod that the API server refuses to evict.
	firstRetry = time.Minute
	mostRetry  = 8 * time.Minute
	// leastPause is how long the API server is left alone after it has refused any.
	leastPause = 10 * time.Second
	// mostAnswers is how many answers the condition has.
	mostAnswers = 3
	// mostBehind is how many ReplicaSets of a namespace go last.
	mostBehind = 32
)

// refuse notes an answer, and returns when the next pod is tried.
func (m *memory) refuse(pod types.UID, answer string, perMinute int32, now time.Time) time.Duration {
	r := m.refused[pod]
	r.answer, r.retry = answer, now.Add(min(firstRetry<<min(r.tries, 10), mostRetry))
	r.tries++
	if m.refused == nil {
		m.refused = map[types.UID]refusal{}
	}
	m.refused[pod] = r
	pause := max(leastPause, time.Minute/time.Duration(perMinute))
	m.next = now.Add(pause)
	return pause
}

// returned notes a return. The same PodDisruptionBudget may let other pods go now, so the order begins anew.
func (m *memory) returned(last spill.Returned) {
	m.last, m.unsure = last, nil
	m.refused, m.next = nil, time.Time{}
}

// observe notes what became of the last return.
func (m *memory) observe(s Snapshot) {
	m.unknown = time.Time{}
	if m.fresh {
		m.last, m.fresh = m.last.Restored(s.Tiers, s.Now), false
	}
	if m.unsure != nil && !m.next.After(s.Now) {
		if gone := *m.unsure; !slices.ContainsFunc(s.Pods, func(pod Pod) bool { return pod.UID == gone.UID }) {
			m.returned(m.last.Next(gone.Tier, gone.Name, ownerOf(gone.Pod), m.asked))
			return // What was observed is about the successor of an earlier one.
		}
		m.unsure = nil
	}
	if m.last = m.last.Observe(s.Opened, s.Successors, s.Tiers, after(s.Offloading.Spec.Return), s.Now); m.last.Failed {
		m.fall(m.last.Owner)
	}
}

// fall notes that the pods of a ReplicaSet go last.
func (m *memory) fall(owner string) {
	if slices.Contains(m.behind, owner) {
		return
	}
	m.behind = append(m.behind, owner)
	m.behind = slices.Clone(m.behind[max(0, len(m.behind)-mostBehind):])
}

// blind returns what to report while it is not known what is on the nodes, and when to look again. A manager that starts
// knows that after a moment, so the first minute takes no write.
func (m *memory) blind(why error, now time.Time) (condition, time.Duration) {
	if m.unknown.IsZero() {
		m.unknown = now
	}
	if wait := m.unknown.Add(settle).Sub(now); wait > 0 {
		return condition{}, wait
	}
	return condition{reason: v1alpha1.ReasonRoomUnknown, message: "no pod returns, because the room is not known: " + why.Error()}, 0
}

// keep forgets the answers about pods that are gone.
func (m *memory) keep(pods []Pod) {
	there := map[types.UID]bool{}
	for _, pod := range pods {
		there[pod.UID] = true
	}
	maps.DeleteFunc(m.refused, func(uid types.UID, _ refusal) bool { return !there[uid] })
}

// answers says what the API server answered. A PodDisruptionBudget gives all its pods the same answer.
func (m *memory) answers() string {
	if len(m.refused) == 0 {
		return "the API server did not answer an eviction"
	}
	var answers []string
	for _, r := range m.refused {
		answers = append(answers, r.answer)
	}
	slices.Sort(answers)
	answers = slices.Compact(answers)
	return "the API server refuses to evict pods that could return: " + strings.Join(answers[:min(len(answers), mostAnswers)], "; ")
}

// young returns how long until this process has observed for long enough to know better than the one before.
func (m *memory) young(now time.Time, patience time.Duration) time.Duration {
	if m.restored.IsZero() {
		return 0
	}
	return max(0, m.restored.Add(patience+settle).Sub(now))
}
