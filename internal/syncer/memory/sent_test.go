package memory

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const many = 200

// lives has a provider end one object after the other, and returns how many of
// them were sent before the next one was held back.
func lives(s *Sent, namespace string, each func()) int {
	for i := range many {
		key, uid := types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(i)}, types.UID(fmt.Sprint(i))
		if !s.MayGo(namespace) {
			return i
		}
		s.Note(key, uid)
		each()
		s.Ended(key, uid)
	}
	return many
}

func TestSent(t *testing.T) {
	m, clock := testMemory()
	if got := lives(m.Sent, "team", func() {}); got != 21 {
		t.Errorf("%d were sent, want 21", got)
	}
	if got := lives(m.Sent, "others", func() {}); got != 21 {
		t.Errorf("%d of another namespace were sent: it has nothing to do with the first", got)
	}
	if got := lives(m.Sent, "slow", func() { clock.Step(time.Minute) }); got != many {
		t.Errorf("%d were sent that live for a minute, want all", got)
	}
	for i := range many { // They end by themselves.
		key := types.NamespacedName{Namespace: "jobs", Name: fmt.Sprint(i)}
		m.Sent.Note(key, "uid")
		m.Forget(key)
	}
	if !m.Sent.MayGo("jobs") || len(m.Sent.objects) > 0 {
		t.Errorf("%d are remembered that are gone", len(m.Sent.objects))
	}
}

// TestBrakeOfOne has a provider end one object again and again, each time before it
// has said anything about it.
func TestBrakeOfOne(t *testing.T) {
	m, _ := testMemory()
	sent := 0
	for m.Sent.Wait("team") == 0 && sent < many {
		m.Sent.Note(types.NamespacedName{Namespace: "team", Name: "settings"}, "uid")
		sent++
	}
	if want := 22; sent != want {
		t.Errorf("it was sent %d times, want %d", sent, want)
	}
}

// TestWhatAnEarlierConnectionHasSent counts for nothing when it is ended.
func TestWhatAnEarlierConnectionHasSent(t *testing.T) {
	m, _ := testMemory()
	for i := range many {
		m.Sent.Ended(types.NamespacedName{Namespace: "team", Name: fmt.Sprint(i)}, "uid")
	}
	if m.Sent.Wait("team") > 0 {
		t.Error("it holds up the next")
	}
}

// TestTrials: one is tried after ten seconds, the next ones ever later, and at least every
// ten minutes.
func TestTrials(t *testing.T) {
	m, clock := testMemory()
	lives(m.Sent, "team", func() {})
	var waits []time.Duration
	for i := range 10 {
		key := types.NamespacedName{Namespace: "team", Name: fmt.Sprint("trial", i)}
		wait := m.Sent.Wait("team")
		waits = append(waits, wait)
		clock.Step(wait)
		if !m.Sent.MayGo("team") || m.Sent.MayGo("team") {
			t.Errorf("trial %d is not one", i)
		}
		m.Sent.Note(key, "uid")
		m.Sent.Ended(key, "uid")
	}
	if waits[0] != 10*time.Second || waits[9] != 10*time.Minute {
		t.Errorf("trials are made after %s", waits)
	}
}

// TestEndsComeBack: after twenty early ends at once, one more may come every half minute.
func TestEndsComeBack(t *testing.T) {
	for after, want := range map[time.Duration]bool{29 * time.Second: true, 30 * time.Second: false} {
		m, clock := testMemory()
		for i := range 21 {
			if i == 20 {
				clock.Step(after)
			}
			key := types.NamespacedName{Namespace: "team", Name: fmt.Sprint(i)}
			m.Sent.Note(key, "uid")
			m.Sent.Ended(key, "uid")
		}
		if held := m.Sent.Wait("team") > 0; held != want {
			t.Errorf("after %s the next is held back: %t", after, held)
		}
	}
}

// TestSoonEnded: what has lived for a minute has not ended early.
func TestSoonEnded(t *testing.T) {
	for lived, want := range map[time.Duration]bool{59 * time.Second: true, time.Minute: false} {
		m, clock := testMemory()
		for i := range 21 {
			m.Sent.Note(types.NamespacedName{Namespace: "team", Name: fmt.Sprint(i)}, "uid")
		}
		clock.Step(lived)
		for i := range 21 {
			m.Sent.Ended(types.NamespacedName{Namespace: "team", Name: fmt.Sprint(i)}, "uid")
		}
		if held := m.Sent.Wait("team") > 0; held != want {
			t.Errorf("of what has lived for %s the next is held back: %t", lived, held)
		}
	}
}

// TestTrialThatLives: when one has lived for a minute, all others may go.
func TestTrialThatLives(t *testing.T) {
	m, clock := testMemory()
	lives(m.Sent, "team", func() {})
	clock.Step(10 * time.Second)
	if !m.Sent.MayGo("team") {
		t.Fatal("none is tried")
	}
	m.Sent.Note(types.NamespacedName{Namespace: "team", Name: "trial"}, "uid")
	clock.Step(time.Minute)
	for range 10 {
		if !m.Sent.MayGo("team") {
			t.Fatal("the next are held back still")
		}
	}
}

// TestAnotherOneEnds: only the end of what was sent counts.
func TestAnotherOneEnds(t *testing.T) {
	m, _ := testMemory()
	for i := range many {
		key := types.NamespacedName{Namespace: "team", Name: fmt.Sprint(i)}
		m.Sent.Note(key, "uid")
		m.Sent.Ended(key, "uid of an older one")
		m.Sent.Ended(types.NamespacedName{Namespace: "team", Name: "never sent"}, "uid")
	}
	if m.Sent.Wait("team") > 0 {
		t.Error("it holds up the next")
	}
}
