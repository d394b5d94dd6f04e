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

	for range 100 { // Lives that are long enough hold up nothing,
		brake.Sent("a")
		brake.Ended("a", soon)
		expect("a", 0)
	}
	for range 100 { // nor do early ends now and then.
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
	expect("b", 0) // Keys are independent.

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
	expect("a", 160*time.Second) // It was not sent, for another reason.
	pass(brake.Wait("a"))
	brake.Take("a")
	brake.Sent("a")
	expect("a", soon) // Not until the next turn: the trial may live,
	pass(soon - 1)
	expect("a", 1)
	pass(1)
	expect("a", 0) // and then all may go.
	for range 2 {
		if !brake.Take("a") {
			t.Error("one waits still")
		}
	}
	if len(brake.closed) > 0 {
		t.Errorf("%d keys are kept", len(brake.closed))
	}
}

// TestBrakeForgets lets namespaces come and go, each with a closed key.
func TestBrakeForgets(t *testing.T) {
	brake, clock := testBrake()
	known := func() map[string]int {
		return map[string]int{"closed": len(brake.closed), "ended": len(brake.ended), "ends": len(brake.ends.used), "trials": len(brake.trials.last)}
	}
	for range 3 {
		brake.Ended("stays", 0)
	}
	const most = 22 // With one per minute: those of the last 21, and one that stays.
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

// TestBrakeIsBounded: for a day, a provider ends everything at once, and somebody
// replaces each one that ends.
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
	if most := 4 + 7 + 24*6; sent > most || sent < 24*6 { // Until it closes, while it slows down, and every ten minutes.
		t.Errorf("%d were sent, want at most %d", sent, most)
	}
}
