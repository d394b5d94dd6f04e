package fleet

import (
	"testing"
	"time"
)

// TestAnOutageIsNoticedInTime compares the defaults with the promise in docs/concepts.md.
// The provider stops answering just after its last answer.
func TestAnOutageIsNoticedInTime(t *testing.T) {
	const promised = 15 * time.Second
	var o Options
	o.defaults()
	if longest := o.quiet() + time.Duration(o.ProbeFailures)*max(o.ProbeInterval, o.ProbeTimeout); longest > promised {
		t.Errorf("an outage is noticed after up to %s, want at most %s", longest, promised)
	}
}
