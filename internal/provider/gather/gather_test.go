package gather

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestGathering(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(0, 0))
	called := 0
	g := New(now, func() { called++ })
	expect := func(when string, want int) {
		t.Helper()
		if called != want {
			t.Errorf("%s: called %d times, want %d", when, called, want)
		}
	}
	now.Step(time.Hour)
	expect("before the first", 0)
	g.Trigger()
	now.Step(Moment / 2)
	g.Trigger()
	expect("in between", 0)
	now.Step(Moment / 2)
	expect("a moment after the first", 1)
	now.Step(time.Hour)
	expect("afterwards", 1)
	g.Trigger()
	now.Step(Moment)
	expect("after another", 2)
}
