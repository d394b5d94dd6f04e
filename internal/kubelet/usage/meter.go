package usage

import "time"

// Meter has the counters of one virtual node. The zero value is ready for use.
type Meter struct {
	counters  map[Container]counter
	node      counter
	at        time.Time // The last reading, by the manager's clock; zero: none yet.
	nodeShown bool      // The node is shown, because it was read twice.
}

// counter is what a container, or a node, has used since its start time.
type counter struct {
	began, at      time.Time
	seconds, bytes float64
}

// Read adds the readings of a provider, which are all that it reports about its pods. now is the time by the
// manager's clock.
func (m *Meter) Read(readings map[Container]Reading, now time.Time) {
	elapsed := now.Sub(m.at)
	first := m.at.IsZero() || elapsed < 0 || elapsed > Longest
	if first {
		*m = Meter{node: counter{seconds: leastSeconds}}
	}
	counters := make(map[Container]counter, len(readings))
	var cores, bytes float64
	for of, reading := range readings {
		before, known := m.counters[of]
		counters[of] = before.next(reading, known, first)
		cores, bytes = cores+reading.Cores, bytes+reading.Bytes
	}
	m.counters, m.at, m.nodeShown = counters, now, !first
	m.node.at, m.node.bytes = now, max(leastBytes, bytes)
	if !first {
		m.node.seconds += cores * elapsed.Seconds()
	}
}

// next returns the counter after a reading. A reading may be no newer than the one before: it may be the
// same, or come from another replica of the provider's metrics-server. A new counter begins with the window
// of the reading. If all counters are new (first), another manager may have shown an earlier counter up to
// this moment. Then the new one begins at the end of the window.
func (c counter) next(r Reading, known, first bool) counter {
	if elapsed := r.At.Sub(c.at); known && elapsed.Abs() <= Longest {
		if c.bytes = r.Bytes; elapsed > 0 {
			c.at = r.At
			c.seconds += r.Cores * elapsed.Seconds()
		}
		return c
	}
	begun := counter{began: r.At, at: r.At, seconds: leastSeconds, bytes: r.Bytes}
	if !first && !known {
		begun.began = r.At.Add(-r.Window)
		begun.seconds += r.Cores * r.Window.Seconds()
	}
	return begun
}
