package attempts

import (
	"testing"
	"time"

	"github.com/spillway-io/spillway/internal/field"
)

// TestReported checks that an event is due for a new problem, and for one that lasts.
func TestReported(t *testing.T) {
	reported, now := &Reported{}, time.Unix(1e9, 0)
	first, other := &field.Problem{Reason: "A", Message: "because"}, &field.Problem{Reason: "A", Message: "because of something else"}
	for i, step := range []struct {
		after   time.Duration
		problem *field.Problem
		want    bool
	}{
		{0, nil, false},
		{RepeatEvent, first, true},
		{RepeatEvent - 1, first, false},
		{1, first, true},
		{1, other, true},
		{RepeatEvent - 1, other, false},
		{0, nil, false},
		{0, other, true},
	} {
		now = now.Add(step.after)
		if got, tooMany := reported.Due(web, Problem, step.problem, now); got != step.want || tooMany > 0 {
			t.Errorf("step %d: an event is due: %t, want %t; or after %s", i, got, step.want, tooMany)
		}
		if due, _ := reported.Due(web, Notice, nil, now); due {
			t.Errorf("step %d: no notice is due", i)
		}
	}
	if reported.IsOld(web, now.Add(RepeatEvent-1)) || !reported.IsOld(web, now.Add(RepeatEvent)) {
		t.Error("the event of the problem is old before its time, or not in time")
	}
	reported.Clear(web, Problem)
	if reported.IsOld(web, now.Add(RepeatEvent)) {
		t.Error("there is no problem")
	}
}

// TestTooManyEvents checks that an object that changes all the time causes ten events, and then one a minute.
func TestTooManyEvents(t *testing.T) {
	reported, now, created := &Reported{}, time.Unix(1e9, 0), 0
	one, two := &field.Problem{Reason: "A"}, &field.Problem{Reason: "B"}
	for range 300 {
		now = now.Add(time.Second)
		due, tooMany := reported.Due(web, Notice, one, now)
		if one, two = two, one; due {
			created++
		} else if tooMany <= 0 || tooMany > time.Minute {
			t.Fatalf("event %d waits for %s", created, tooMany)
		}
	}
	if created != 14 {
		t.Errorf("%d events in five minutes", created)
	}
	if refused := *one; !reported.DueOfRefusal(web, refused, now) || reported.DueOfRefusal(web, refused, now) || !reported.IsOld(web, now.Add(RepeatEvent)) {
		t.Error("an event of a refusal waits, or is not remembered")
	}
	reported.Forget(web)
	if due, _ := reported.Due(web, Notice, one, now); !due {
		t.Error("another object of the name gets no event")
	}
}
