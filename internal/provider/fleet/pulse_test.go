package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"
)

// answered is how a request ends: after how long, and whether well.
type answered struct {
	after time.Duration
	well  bool
}

// The answers of the tests. lost is a request that ends with its timeout.
var (
	prompt     = answered{0, true}
	refusedNow = answered{0, false}
	late       = answered{4900 * time.Millisecond, true}
	lost       = answered{time.Minute, false}
)

// always answers each request alike.
func always(a answered) func(int) answered { return func(int) answered { return a } }

// from answers promptly before a second, and otherwise from then on.
func from(second int, a answered) func(int) answered {
	return func(at int) answered {
		if at < second {
			return prompt
		}
		return a
	}
}

// only answers otherwise at one second.
func only(second int, a answered) func(int) answered {
	return func(at int) answered {
		if at == second {
			return a
		}
		return prompt
	}
}

// heart plays a session with its pulse. The Lease was taken, and the provider engaged, at second 0.
type heart struct {
	pulse          pulse
	now, contact   time.Time
	began          time.Time
	held           bool
	renewal, probe func(second int) answered // The request that begins at that second.

	renewed, probed answered // In progress.
	renewing        time.Time
	log             []string
	taken           func(began, took time.Time) // Called when a renewal was answered well. May be nil.
}

func newHeart(o *Options, held bool) *heart {
	h := &heart{pulse: pulse{options: o}, began: o.began, now: o.began, contact: o.began, held: held, renewal: always(prompt), probe: always(prompt)}
	h.pulse.start(h.now, held)
	h.pulse.use(h.now)
	return h
}

func (h *heart) second() int { return int(h.now.Sub(h.began) / time.Second) }

// step begins what is due, and lets the time pass until something ends or is due. It reports whether the provider
// counts as lost.
func (h *heart) step() bool {
	o, p := h.pulse.options, &h.pulse
	if p.renewalIsDue(h.now) {
		h.log = append(h.log, fmt.Sprintf("renew %d", h.second()))
		p.renewing, h.renewing, h.renewed = true, h.now, h.renewal(h.second())
		h.renewed.after = min(h.renewed.after, o.LeaseDuration/3)
	}
	if p.probeIsDue(h.now, h.contact) {
		h.log = append(h.log, fmt.Sprintf("probe %d", h.second()))
		p.probing, p.probed, h.probed = true, h.now, h.probe(h.second())
		h.probed.after = min(h.probed.after, o.ProbeTimeout)
	}
	rest := p.rest(h.now, h.contact)
	if p.renewing {
		rest = min(rest, h.renewing.Add(h.renewed.after).Sub(h.now))
	}
	if p.probing {
		rest = min(rest, p.probed.Add(h.probed.after).Sub(h.now))
	}
	h.now = h.now.Add(rest)
	if p.renewing && !h.now.Before(h.renewing.Add(h.renewed.after)) {
		if h.renewed.well {
			h.contact = h.now
			if h.taken != nil {
				h.taken(h.renewing, h.now)
			}
		}
		p.renewed(h.renewing, h.held, h.renewed.well)
	}
	if p.probing && !h.now.Before(p.probed.Add(h.probed.after)) {
		p.probing = false
		p.failures++
		if h.probed.well {
			h.contact, p.failures = h.now, 0
		}
	}
	return p.failures >= o.ProbeFailures
}

func shipped() *Options {
	o := &Options{Clock: testclock.NewFakeClock(time.Unix(0, 0))}
	o.defaults()
	return o
}

func TestPulse(t *testing.T) {
	for name, test := range map[string]struct {
		unfenced       bool
		lease          time.Duration
		renewal, probe func(int) answered
		until          int
		want           string
	}{
		"renewals take the place of probes": {until: 125, want: "probe 3, renew 6, renew 12, renew 18, renew 24, renew 30, renew 36, renew 42, renew 48, renew 54, renew 60, probe 62, " +
			"renew 66, renew 72, renew 78, renew 84, renew 90, renew 96, renew 102, renew 108, renew 114, renew 120, probe 122"},
		"a provider that is far away": {renewal: always(answered{900 * time.Millisecond, true}), until: 30, want: "probe 3, renew 6, renew 12, renew 18, renew 24, renew 30"},
		"a slow webhook":              {renewal: always(late), until: 30, want: "probe 3, renew 6, probe 10, renew 12, renew 18, renew 24, renew 30"},
		"one renewal is lost":         {renewal: only(12, lost), until: 30, want: "probe 3, renew 6, renew 12, probe 13, renew 17, probe 17, renew 22, renew 28"},
		"one renewal is refused":      {renewal: only(12, refusedNow), until: 30, want: "probe 3, renew 6, renew 12, probe 12, renew 14, renew 20, renew 26"},
		"no Lease can be written":     {renewal: from(12, refusedNow), until: 19, want: "probe 3, renew 6, renew 12, probe 12, renew 14, probe 15, renew 16, renew 18, probe 18"},
		"it refuses connections":      {renewal: from(7, refusedNow), probe: from(7, refusedNow), until: 60, want: "probe 3, renew 6, renew 12, probe 12, renew 14, probe 15, lost 15"},
		"it does not answer":          {renewal: from(7, lost), probe: from(7, lost), until: 60, want: "probe 3, renew 6, renew 12, probe 13, renew 17, probe 17, lost 21"},
		"it answers in between":       {renewal: from(7, lost), probe: only(13, lost), until: 23, want: "probe 3, renew 6, renew 12, probe 13, renew 17, probe 17, probe 20, renew 22, probe 23"},
		"no right to Leases":          {unfenced: true, until: 61, want: "probe 3, probe 10, probe 17, probe 24, probe 31, probe 38, probe 45, probe 52, probe 59, renew 60"},
		"a long Lease":                {lease: 5 * time.Minute, until: 30, want: "probe 3, probe 10, probe 17, probe 24"},
	} {
		t.Run(name, func(t *testing.T) {
			o := shipped()
			if test.lease != 0 {
				o.LeaseDuration = test.lease
			}
			h := newHeart(o, !test.unfenced)
			if test.renewal != nil {
				h.renewal = test.renewal
			}
			if test.probe != nil {
				h.probe = test.probe
			}
			for h.second() <= test.until {
				if h.step() {
					h.log = append(h.log, fmt.Sprintf("lost %d", h.second()))
					break
				}
			}
			if got := strings.Join(h.log, ", "); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestPulseIsShared: whenever connections begin, they renew and probe at the same few moments, and none later than
// it must.
func TestPulseIsShared(t *testing.T) {
	o := shipped()
	for step := range 50 {
		began := o.began.Add(time.Duration(step) * 1234567 * time.Microsecond)
		p := pulse{options: o}
		p.start(began, true)
		p.use(began)
		for what, at := range map[string]time.Time{"renewed": p.renewAt, "probed": o.aligned(p.probed, atLeast*o.ProbeInterval)} {
			if at.Sub(o.began)%o.moment() != 0 {
				t.Errorf("%s %s after the first connection", what, at.Sub(o.began))
			}
		}
		if after := p.renewAt.Sub(began); after > o.renewInterval() || after <= o.renewInterval()-o.moment() {
			t.Errorf("renewed after %s", after)
		}
	}
}

// TestPulseNeverSpins, whatever the options are.
func TestPulseNeverSpins(t *testing.T) {
	for _, lease := range []time.Duration{time.Second, 15 * time.Second, 5 * time.Minute} {
		for _, interval := range []time.Duration{10 * time.Millisecond, 3 * time.Second, time.Hour} {
			o := &Options{Clock: testclock.NewFakeClock(time.Unix(0, 0)), LeaseDuration: lease, ProbeInterval: interval}
			o.defaults()
			h := newHeart(o, true)
			before := h.now
			for range 1000 {
				h.step()
			}
			if each := h.now.Sub(before) / 1000; each < min(interval, o.moment())/4 {
				t.Errorf("Leases of %s, probes after %s: something is due each %s", lease, interval, each)
			}
		}
	}
}

// TestTheFenceEndsBeforeTheLease plays all orders in which five renewals can end. A renewal takes effect when it
// begins, or just before its answer, or not at all, and its answer can be lost. A successor waits for the whole
// Lease after the last effect. Until then, the fence must have ended.
func TestTheFenceEndsBeforeTheLease(t *testing.T) {
	type renewal struct {
		answered
		effective, lateEffect bool
	}
	kinds := map[string]renewal{
		"prompt": {prompt, true, false}, "late": {late, true, false}, "late, and takes effect late": {late, true, true},
		"refused": {refusedNow, false, false}, "lost": {lost, false, false}, "lost, but takes effect": {lost, true, false},
	}
	var names []string
	for name := range kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	const tries = 5
	orders := 1
	for range tries {
		orders *= len(names)
	}
	for order := range orders {
		var chosen []string
		for rest, i := order, 0; i < tries; rest, i = rest/len(names), i+1 {
			chosen = append(chosen, names[rest%len(names)])
		}
		playFence(t, chosen, func(i int) (answered, bool, bool) {
			kind := kinds[chosen[i]]
			return kind.answered, kind.effective, kind.lateEffect
		})
	}
}

func playFence(t *testing.T, chosen []string, kind func(i int) (a answered, effective, late bool)) {
	t.Helper()
	o := shipped()
	clock := testclock.NewFakeClock(o.began)
	f := &fence{clock: clock, duration: o.LeaseDuration}
	f.extend(o.began)
	h, tried, effect, closed := newHeart(o, true), 0, o.began, false
	look := func() {
		clock.SetTime(h.now)
		left, _ := f.remaining()
		closed = closed || left <= 0
		if end := h.now.Add(left); left > 0 && end.After(effect.Add(o.LeaseDuration*4/5)) {
			t.Fatalf("%q: writes until %s, and the Lease was last changed at %s", chosen, end.Sub(o.began), effect.Sub(o.began))
		}
	}
	h.renewal = func(int) answered {
		if tried == len(chosen) {
			return prompt
		}
		a, effective, lateEffect := kind(tried)
		tried++
		switch {
		case effective && lateEffect:
			effect = h.now.Add(a.after)
		case effective:
			effect = h.now
		}
		return a
	}
	h.taken = func(began, _ time.Time) { f.extend(began) }
	for tried < len(chosen) || h.pulse.renewing {
		look()
		h.step()
		look()
	}
	failed := func(name string) bool { return name == "refused" || strings.HasPrefix(name, "lost") }
	quick := true // At most one failure, or two refusals, in a row, and no answer is late.
	for i, name := range chosen {
		quick = quick && !strings.HasPrefix(name, "late") && (i == 0 || !failed(name) || !failed(chosen[i-1]) ||
			name == "refused" && chosen[i-1] == "refused" && (i == 1 || !failed(chosen[i-2])))
	}
	if quick && closed {
		t.Fatalf("%q: the manager could not write for a moment", chosen)
	}
}
