package throttle

import (
	"fmt"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

const soon = time.Minute

// testBrake is closed by the fourth early end within 30 seconds.
func testBrake() (*Brake, *testclock.FakePassiveClock) {
	clock := testclock.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	return NewBrake(NewAllowance[string](3, 10*time.Second, clock), New(10*time.Second, 10*time.Minute, clock), soon, clock), clock
}

func TestBrake(t *testing.T) {
	brake, clock := testBrake()
	expect := func(key string, want time.Duration) {
		t.Helper()
		if got := brake.Wait(key); got != want {
			t.Errorf("%s waits for %v, want %v", key, got, want)
		}
	}
	pass := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }

	for range 100 { // What has lived long enough holds up nothing,
		brake.Sent("a")
		brake.Ended("a", soon)
		expect("a", 0)
	}
	for range 100 { // nor what ends early now and then.
		brake.Ended("a", 0)
		expect("a", 0)
		pass(10 * time.Second)
	}
	pass(soon)
	for range 3 {
		brake.Ended("a", 0)
		expect("a", 0)
	}
	brake.Ended("a", soon-1)
	expect("a", 10*time.Second)
	expect("b", 0) // Keys have nothing to do with each other.

	for _, next := range []time.Duration{20 * time.Second, 40 * time.Second, 80 * time.Second} {
		pass(brake.Wait("a"))
		if !brake.Take("a") || brake.Take("a") {
			t.Error("more than one is tried, or none")
		}
		brake.Sent("a")
		expect("a", min(next, soon))
		brake.Ended("a", time.Second)
		expect("a", next)
	}
	pass(brake.Wait("a"))
	brake.Take("a")
	expect("a", 160*time.Second) // It was not sent, for some other cause.
	pass(brake.Wait("a"))
	brake.Take("a")
	brake.Sent("a")
	expect("a", soon) // Not for the next turn: what was tried may live,
	pass(soon - 1)
	expect("a", 1)
	pass(1)
	expect("a", 0) // and then all go.
	for range 2 {
		if !brake.Take("a") {
			t.Error("one waits still")
		}
	}
	if len(brake.closed) > 0 {
		t.Errorf("%d keys are kept", len(brake.closed))
	}
}

// TestBrakeForgets has namespaces come and go, in each of which it was closed.
func TestBrakeForgets(t *testing.T) {
	brake, clock := testBrake()
	known := func() map[string]int {
		return map[string]int{"closed": len(brake.closed), "ended": len(brake.ended), "ends": len(brake.ends.used), "trials": len(brake.trials.last)}
	}
	for range 3 {
		brake.Ended("stays", 0)
	}
	const most = 22 // Of one in each minute, those of the last 21, and one that stays.
	for i := range 100 {
		key := fmt.Sprint("gone-", i)
		for range 4 {
			brake.Ended(key, 0)
		}
		if brake.Wait(key) == 0 {
			t.Fatalf("%s is not held back", key)
		}
		for what, n := range known() {
			if n > most {
				t.Fatalf("%s: %d keys are known after %d, want at most %d", what, n, i, most)
			}
		}
		brake.Ended("stays", 0) // Now and then, and never lives.
		if _, closed := brake.closed["stays"]; !closed {
			t.Fatal("what goes on ending early is forgotten")
		}
		clock.SetTime(clock.Now().Add(time.Minute))
	}
}

// TestBrakeIsBounded has a provider end all at once for a day, while somebody
// makes another one whenever one has ended.
func TestBrakeIsBounded(t *testing.T) {
	brake, clock := testBrake()
	sent := 0
	for range 24 * 60 * 60 {
		if brake.Take("a") {
			sent++
			brake.Sent("a")
			brake.Ended("a", time.Second)
		}
		clock.SetTime(clock.Now().Add(time.Second))
	}
	if most := 4 + 7 + 24*6; sent > most || sent < 24*6 { // What closes it, while it slows down, and each ten minutes.
		t.Errorf("%d were sent, want at most %d", sent, most)
	}
}
