package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/spillway-io/spillway/internal/fleet/transport"
)

func TestPausesGrowWhileThereIsTooMuch(t *testing.T) {
	p := newPause(3 * time.Second)
	excess := errors.Join(errors.New("reading"), &transport.ExcessError{})
	for i, least := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		if got := p.after(excess); got < least || got > least*6/5 {
			t.Errorf("pause %d lasts %s, want %s and up to a fifth more", i, got, least)
		}
	}
	if got := p.after(errors.New("no route")); got > 4*time.Second {
		t.Errorf("after another error it lasts %s", got)
	}
	if got := p.after(excess); got > 36*time.Second {
		t.Errorf("after another error it begins with %s", got)
	}
}
