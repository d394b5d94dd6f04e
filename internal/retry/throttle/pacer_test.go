package throttle

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

func TestPacer(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	pacer := New(time.Second, 4*time.Second, clock)
	expect := func(key string, want time.Duration) {
		t.Helper()
		if got := pacer.Wait(key); got != want {
			t.Errorf("%s waits for %v, want %v", key, got, want)
		}
	}
	pass := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }

	expect("a", 0) // The first is never delayed,
	expect("a", 0) // however often one asks.
	pacer.Wrote("a")
	expect("a", time.Second)
	expect("b", 0) // Keys are independent.
	pass(400 * time.Millisecond)
	expect("a", 600*time.Millisecond)
	pass(600 * time.Millisecond)
	expect("a", 0)
	pass(time.Hour)
	expect("a", 0)
	pacer.Wrote("a") // After a rest it starts at the first interval again.
	expect("a", time.Second)
	for _, next := range []time.Duration{2 * time.Second, 4 * time.Second, 4 * time.Second} {
		pass(pacer.Wait("a"))
		pacer.Wrote("a") // Without a rest it grows, up to a limit.
		expect("a", next)
	}
	pass(7 * time.Second)
	pacer.Wrote("a") // Not a rest yet.
	expect("a", 4*time.Second)
	pass(8 * time.Second)
	pacer.Wrote("a")
	expect("a", time.Second)
	pacer.Forget("a")
	expect("a", 0)
	pacer.Forget("never heard of")
	pacer.Wrote("a")
	pass(-time.Hour) // A clock that is set back delays, but no longer than it was set back.
	expect("a", time.Hour+time.Second)
}

func TestPacerForgets(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Now())
	pacer := New(time.Second, 4*time.Second, clock)
	for _, key := range []string{"a", "b", "c"} {
		pacer.Wrote(key)
		pacer.Forget(key)
	}
	if len(pacer.last) > 0 {
		t.Errorf("%d keys are kept", len(pacer.last))
	}
}
