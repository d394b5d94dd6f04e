package attempts

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

const many = 200

// lives makes a provider end one object after another. It returns how many were sent before the next was held
// back.
func lives(s *Sent, namespace string, each func()) int {
	for i := range many {
		key, uid := types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(i)}, types.UID(fmt.Sprint(i))
		if !s.Allow(namespace) {
			return i
		}
		s.Note(key, uid)
		each()
		s.Ended(key, uid)
	}
	return many
}

func TestSent(t *testing.T) {
	m, clock := testAttempts()
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
	if !m.Sent.Allow("jobs") || len(m.Sent.objects) > 0 {
		t.Errorf("%d are remembered that are gone", len(m.Sent.objects))
	}
}

// TestBrakeOfOne makes a provider end one object again and again, each time before it has reported anything
// about it.
func TestBrakeOfOne(t *testing.T) {
	m, _ := testAttempts()
	sent := 0
	for m.Sent.Wait("team") == 0 && sent < many {
		m.Sent.Note(types.NamespacedName{Namespace: "team", Name: "settings"}, "uid")
		sent++
	}
	if want := 22; sent != want {
		t.Errorf("it was sent %d times, want %d", sent, want)
	}
}

// TestReconnecting checks that a provider gains no early ends by ending the connection.
func TestReconnecting(t *testing.T) {
	_, clock := testAttempts()
	var kept PerBinding[*Sent]
	connect := func(binding types.UID) *Sent {
		return kept.Of(binding, "pod", func() *Sent { return NewSent(clock) })
	}
	connect("eu").Note(types.NamespacedName{Namespace: "team", Name: "web"}, "uid")
	connect("eu").Ended(types.NamespacedName{Namespace: "team", Name: "web"}, "uid")
	if got := lives(connect("eu"), "team", func() {}); got != 20 {
		t.Errorf("%d were sent after one has ended early, want 20", got)
	}
	if connect("eu").Allow("team") || !connect("us").Allow("team") {
		t.Error("the next connection of the binding sends more, or another binding waits")
	}
	kept.Retain(sets.New[types.UID]("eu"))
	if connect("eu").Allow("team") {
		t.Error("a binding that is there is forgotten")
	}
	kept.Retain(sets.New[types.UID]("us"))
	if !connect("eu").Allow("team") {
		t.Error("a binding that is gone is remembered")
	}
}

// TestTrials checks that the first trial comes after ten seconds, the next ones ever later, and at least one
// every ten minutes.
func TestTrials(t *testing.T) {
	m, clock := testAttempts()
	lives(m.Sent, "team", func() {})
	var waits []time.Duration
	for i := range 10 {
		key := types.NamespacedName{Namespace: "team", Name: fmt.Sprint("trial", i)}
		wait := m.Sent.Wait("team")
		waits = append(waits, wait)
		clock.Step(wait)
		if !m.Sent.Allow("team") || m.Sent.Allow("team") {
			t.Errorf("trial %d is not one", i)
		}
		m.Sent.Note(key, "uid")
		m.Sent.Ended(key, "uid")
	}
	clock.Step(10 * time.Minute)
	if !m.Sent.Allow("team") || m.Sent.Wait("team") != 10*time.Minute {
		t.Error("a trial that was not sent, for another reason, is repeated at once")
	}
	clock.Step(10 * time.Minute)
	m.Sent.Allow("team")
	m.Sent.Note(types.NamespacedName{Namespace: "team", Name: "last"}, "uid")
	if wait := m.Sent.Wait("team"); wait != time.Minute {
		t.Errorf("while a trial lives, the next waits for %s", wait)
	}
	if waits[0] != 10*time.Second || waits[9] != 10*time.Minute {
		t.Errorf("trials are made after %s", waits)
	}
}

// TestEndsComeBack checks that after twenty early ends at once, one more may come every half minute.
func TestEndsComeBack(t *testing.T) {
	for after, want := range map[time.Duration]bool{29 * time.Second: true, 30 * time.Second: false} {
		m, clock := testAttempts()
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

// TestSoonEnded checks that an object that has lived for a minute has not ended early.
func TestSoonEnded(t *testing.T) {
	for lived, want := range map[time.Duration]bool{59 * time.Second: true, time.Minute: false} {
		m, clock := testAttempts()
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

// TestTrialThatLives checks that all others may be sent when one trial has lived for a minute.
func TestTrialThatLives(t *testing.T) {
	m, clock := testAttempts()
	lives(m.Sent, "team", func() {})
	clock.Step(10 * time.Second)
	if !m.Sent.Allow("team") {
		t.Fatal("none is tried")
	}
	m.Sent.Note(types.NamespacedName{Namespace: "team", Name: "trial"}, "uid")
	clock.Step(time.Minute)
	for range 10 {
		if !m.Sent.Allow("team") {
			t.Fatal("the next are held back still")
		}
	}
}

// TestAnotherOneEnds checks that only the ends of objects that were sent count.
func TestAnotherOneEnds(t *testing.T) {
	m, _ := testAttempts()
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

// TestEarlyEndsAreForgotten creates and forgets namespaces that each have objects held back.
func TestEarlyEndsAreForgotten(t *testing.T) {
	m, clock := testAttempts()
	early := func(namespace string) {
		key := types.NamespacedName{Namespace: namespace, Name: "web"}
		m.Sent.Note(key, "uid")
		m.Sent.Ended(key, "uid")
	}
	const most = 22 // With one per minute: the namespaces of the last 21, and one that stays.
	for i := range 100 {
		m.Sent.Note(types.NamespacedName{Namespace: "jobs", Name: fmt.Sprint(i)}, "uid")
		namespace := fmt.Sprint("gone-", i)
		for range 21 {
			early(namespace)
			early("stays")
		}
		if m.Sent.Wait(namespace) == 0 || !m.Sent.early["stays"].holds {
			t.Fatalf("%s is not held back, or what goes on ending early is forgotten", namespace)
		}
		if len(m.Sent.early) > most || len(m.Sent.objects) > 1 {
			t.Fatalf("%d namespaces are known after %d, want at most %d; and %d objects", len(m.Sent.early), i, most, len(m.Sent.objects))
		}
		clock.Step(time.Minute)
	}
}

// TestSentIsBounded simulates a day on which the provider ends every object at once, and somebody replaces each
// one.
func TestSentIsBounded(t *testing.T) {
	m, clock := testAttempts()
	sent := 0
	key := types.NamespacedName{Namespace: "team", Name: "web"}
	for range 24 * 60 * 60 {
		if m.Sent.Allow("team") {
			sent++
			m.Sent.Note(key, "uid")
			m.Sent.Ended(key, "uid")
		}
		clock.Step(time.Second)
	}
	if most := 21 + 2 + 7 + 24*6; sent > most || sent < 24*6 { // Before the back-off, during the slowdown, and every ten minutes after that.
		t.Errorf("%d were sent, want at most %d", sent, most)
	}
}
