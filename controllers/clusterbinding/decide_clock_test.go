package clusterbinding

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

func TestClock(t *testing.T) {
	clock := func(ahead time.Duration) func(*snapshot) { return func(s *snapshot) { s.Connection.ClockSkew = ahead } }
	after := func(before, now func(*snapshot)) snapshot {
		return up(func(s *snapshot) { s.Binding.Status = Decide(up(before)); now(s) })
	}
	away := func(s *snapshot) { s.Connection = lost(v1alpha1.ReasonUnreachable, "why") }
	const ahead, behind = v1alpha1.ReasonClockAhead, v1alpha1.ReasonClockBehind
	for name, test := range map[string]struct {
		snapshot snapshot
		want     string // The reason; empty: there is no such condition.
	}{
		"in step":                        {up(clock(0)), ""},
		"ahead":                          {up(clock(connection.MaxClockSkew + 1)), ahead},
		"behind":                         {up(clock(-time.Minute)), behind},
		"not by enough":                  {up(clock(connection.MaxClockSkew)), ""},
		"still ahead by nearly as much":  {after(clock(time.Minute), clock(4*time.Second)), ahead},
		"still behind by nearly as much": {after(clock(-time.Minute), clock(-4*time.Second)), behind},
		"now nearly as much behind":      {after(clock(time.Minute), clock(-4*time.Second)), ""},
		"now behind":                     {after(clock(time.Minute), clock(-time.Minute)), behind},
		"in step again":                  {after(clock(time.Minute), clock(3*time.Second)), ""},
		"away: the last verdict":         {after(clock(time.Minute), away), ahead},
		"a duplicate, which is not used": {after(clock(time.Minute), func(s *snapshot) { s.Holder = "older" }), ""},
		"beside missing metrics":         {up(func(s *snapshot) { clock(time.Minute)(s); s.Connection.NoMetrics = "it serves none" }), ahead},
	} {
		t.Run(name, func(t *testing.T) {
			status, got := Decide(test.snapshot), ""
			if c := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingClockSkewed); c != nil {
				got = c.Reason
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if limited := meta.FindStatusCondition(status.Conditions, v1alpha1.BindingLimited); (limited != nil) != (test.snapshot.Connection.NoMetrics != "") {
				t.Errorf("Limited is %v", limited)
			}
		})
	}
}
