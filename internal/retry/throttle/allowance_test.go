package throttle

import (
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

func TestAllowance(t *testing.T) {
	clock := testclock.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	allowance := NewAllowance[string](3, time.Second, clock)
	expect := func(key string, want time.Duration) {
		t.Helper()
		if got := allowance.Wait(key); got != want {
			t.Errorf("%s waits for %v, want %v", key, got, want)
		}
	}
	pass := func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }

	for range 3 { // A few do not wait.
		expect("a", 0)
		allowance.Wrote("a")
	}
	expect("a", time.Second)
	expect("b", 0) // Keys are independent.
	pass(400 * time.Millisecond)
	expect("a", 600*time.Millisecond)
	for range 5 { // Then one per interval,
		pass(allowance.Wait("a"))
		allowance.Wrote("a")
		expect("a", time.Second)
	}
	allowance.Wrote("a") // and one that is too early delays the next.
	expect("a", 2*time.Second)
	pass(3 * time.Second)
	expect("a", 0) // Two are restored.
	allowance.Wrote("a")
	expect("a", 0)
	allowance.Wrote("a")
	expect("a", time.Second)
	pass(time.Hour) // No more than a few are restored.
	for range 3 {
		expect("a", 0)
		allowance.Wrote("a")
	}
	expect("a", time.Second)
	allowance.Forget("a")
	expect("a", 0)
	if len(allowance.used) > 0 {
		t.Errorf("%d keys are kept", len(allowance.used))
	}
}

// TestAllowanceIsBounded makes a hundred changes a second for five seconds.
func TestAllowanceIsBounded(t *testing.T) {
	const few, seconds, rate = 5, 5, 100
	clock := testclock.NewFakePassiveClock(time.Now())
	allowance := NewAllowance[string](few, time.Second, clock)
	writes := 0
	for range seconds * rate {
		if allowance.Wait("a") == 0 {
			allowance.Wrote("a")
			writes++
		}
		clock.SetTime(clock.Now().Add(time.Second / rate))
	}
	if writes < few || writes > few+seconds {
		t.Errorf("%d writes of %d changes, want from %d to %d", writes, seconds*rate, few, few+seconds)
	}
}
