package connection

import (
	"testing"
	"time"
)

func TestApart(t *testing.T) {
	at := time.Unix(1_000_000, 0)
	for name, test := range map[string]struct {
		date     time.Time
		answered time.Duration // After at.
		want     time.Duration
	}{
		"none":                           {time.Time{}, 0, 0},
		"the same":                       {at, 0, 0},
		"cut to this second":             {at.Add(-time.Second), 0, 0},
		"written at some time between":   {at.Add(30 * time.Second), 30 * time.Second, 0},
		"ahead":                          {at.Add(30 * time.Second), 10 * time.Second, 20 * time.Second},
		"behind, though the answer took": {at.Add(-30 * time.Second), 10 * time.Second, -29 * time.Second},
	} {
		if got := ClockSkew(test.date, at, at.Add(test.answered)); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestSameVerdict: clocks drift, and not each second is worth an event.
func TestSameVerdict(t *testing.T) {
	for name, test := range map[string]struct {
		before, after time.Duration
		same          bool
	}{
		"ahead, and more so": {6 * time.Second, time.Hour, true},
		"behind by now":      {0, -6 * time.Second, false},
		"in step again":      {4 * time.Second, 2 * time.Second, false},
		"in step":            {2 * time.Second, -2 * time.Second, true},
	} {
		if got := SameVerdict(State{ClockSkew: test.before}, State{ClockSkew: test.after}); got != test.same {
			t.Errorf("%s: %t", name, got)
		}
	}
}
