package fleet

import "time"

// atLeast is after how many ProbeIntervals a provider is probed in any case. A probe finds what a renewal does
// not, such as a missing right, or a clock that is wrong.
const atLeast = 20

// quiet is for how long a provider that answers may be silent before it is probed. As shipped, renewals of the
// Lease come a second sooner, and prove as much as a probe.
func (o *Options) quiet() time.Duration { return 2*o.ProbeInterval + o.ProbeInterval/3 }

// renewInterval is the time from the beginning of a renewal of the Lease to the next one. It leaves time for a
// second try before the fence ends, if the first one gets no answer, and for three if they fail at once.
func (o *Options) renewInterval() time.Duration { return o.LeaseDuration * 2 / 5 }

// moment is the time between two moments at which connections renew their Leases and probe their providers. All
// connections share them, so the process does not wake up separately for each. A renewal that has failed is tried
// again at the next one.
func (o *Options) moment() time.Duration { return o.renewInterval() / 3 }

// aligned returns the last of these moments that is at most d after from.
func (o *Options) aligned(from time.Time, d time.Duration) time.Time {
	return from.Add(d - from.Sub(o.began)%min(o.moment(), d))
}

// pulse says when a session renews its Lease, and when it probes its provider. It sends nothing. A renewal in
// progress delays no probe, and the other way round.
type pulse struct {
	options *Options

	// renewAt is when to renew the Lease, unless renewing is set, while a renewal is in progress. unrenewed is set
	// if the last renewal of a Lease that the manager holds has failed.
	renewAt             time.Time
	renewing, unrenewed bool

	// used is since when the provider is in use. Until then, nothing probes it. probed is when the last probe
	// began. failures counts the probes in a row that have failed.
	used, probed time.Time
	probing      bool
	failures     int
}

// start begins the renewals. held reports whether the manager holds the Lease.
func (p *pulse) start(now time.Time, held bool) { p.renewed(now, held, true) }

// use begins the probes.
func (p *pulse) use(now time.Time) { p.used, p.probed = now, now }

// renewed notes how the renewal that began at a time has ended. held reports whether the manager now holds the
// Lease. Otherwise it asks for it from time to time.
func (p *pulse) renewed(began time.Time, held, done bool) {
	p.renewing, p.unrenewed = false, held && !done
	switch o := p.options; {
	case !held:
		p.renewAt = began.Add(min(unfencedRetry, refusedDurations*o.LeaseDuration))
	case done:
		p.renewAt = o.aligned(began, o.renewInterval())
	default:
		p.renewAt = o.aligned(began, o.moment())
	}
}

// renewalIsDue reports whether a renewal must begin. contact is when the provider last answered, here and below.
func (p *pulse) renewalIsDue(now time.Time) bool { return !p.renewing && !now.Before(p.renewAt) }

// probeIsDue reports whether a probe must begin.
func (p *pulse) probeIsDue(now, contact time.Time) bool {
	return !p.used.IsZero() && !p.probing && !now.Before(p.probeAt(contact))
}

// probeAt returns when to probe the provider.
func (p *pulse) probeAt(contact time.Time) time.Time {
	interval := p.options.ProbeInterval
	switch {
	case p.failures > 0:
		return p.probed.Add(interval)
	case !contact.After(p.used):
		return p.settled()
	case p.unrenewed:
		return contact.Add(interval) // A renewal that fails is mostly the first sign of an outage.
	}
	silent, last := contact.Add(p.options.quiet()), p.options.aligned(p.probed, atLeast*interval)
	if silent.Before(last) {
		return silent
	}
	return last
}

// settled returns when a provider that answers has been in use for long enough.
func (p *pulse) settled() time.Time { return p.used.Add(p.options.ProbeInterval) }

// isProven reports whether the provider has been in use for long enough, and has answered meanwhile.
func (p *pulse) isProven(now, contact time.Time) bool {
	return !p.used.IsZero() && p.failures == 0 && contact.After(p.used) && !now.Before(p.settled())
}

// rest returns how long nothing will be due, after what is due now has begun.
func (p *pulse) rest(now, contact time.Time) time.Duration {
	rest := p.options.LeaseDuration // At most. It matters only while everything is in progress.
	if !p.renewing {
		rest = p.renewAt.Sub(now)
	}
	if p.used.IsZero() {
		return rest
	}
	if !p.probing {
		rest = min(rest, p.probeAt(contact).Sub(now))
	}
	if now.Before(p.settled()) {
		rest = min(rest, p.settled().Sub(now))
	}
	return rest
}
