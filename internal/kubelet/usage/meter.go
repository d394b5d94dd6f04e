package usage

import "time"

// Meter has the counters of the virtual nodes of one binding. The zero value is ready for use.
type Meter struct {
	counters  map[Container]counter
	on        map[Container]string // The node of each container.
	node      counter              // The sum of all.
	nodes     map[string]counter   // The sum of each node that had containers.
	at        time.Time            // The last reading, by the manager's clock; zero: none yet.
	nodeShown bool                 // The node is shown, because it was read twice.
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
	on, used := make(map[Container]string, len(readings)), map[string]Reading{}
	var all Reading
	for of, reading := range readings {
		before, known := m.counters[of]
		counters[of], on[of] = before.next(reading, known, first), reading.Node
		all, used[reading.Node] = all.plus(reading), used[reading.Node].plus(reading)
	}
	m.counters, m.on, m.at, m.nodeShown = counters, on, now, !first
	if first {
		elapsed = 0
	}
	m.node = m.node.sum(all, elapsed, now)
	m.readNodes(used, elapsed, now)
}

// mostNodes is how many nodes without containers are remembered. One that is not, and gets containers, begins again.
const mostNodes = 256

// readNodes counts what each node has used. One that has no containers any more keeps its counter, which must not decrease.
func (m *Meter) readNodes(used map[string]Reading, elapsed time.Duration, now time.Time) {
	nodes := make(map[string]counter, len(used))
	for name, reading := range used {
		before, known := m.nodes[name]
		if !known {
			before.seconds = leastSeconds
		}
		nodes[name] = before.sum(reading, elapsed, now)
	}
	for name, before := range m.nodes {
		if _, has := used[name]; !has && len(nodes) < len(used)+mostNodes {
			nodes[name] = before.sum(Reading{}, elapsed, now)
		}
	}
	m.nodes = nodes
}

func (r Reading) plus(other Reading) Reading {
	r.Cores, r.Bytes = r.Cores+other.Cores, r.Bytes+other.Bytes
	return r
}

// sum returns the counter of a node after its containers have used that.
func (c counter) sum(used Reading, elapsed time.Duration, now time.Time) counter {
	c.at, c.bytes = now, max(leastBytes, used.Bytes)
	c.seconds += used.Cores * elapsed.Seconds()
	return c
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
