package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/spillway-io/spillway/internal/provider/transport"
)

func TestPausesGrowWhileThereIsTooMuch(t *testing.T) {
	p := newBackoff(3 * time.Second)
	excess := errors.Join(errors.New("reading"), &transport.ExcessError{})
	for i, least := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute} {
		if got := p.next(excess, 0); got < least || got > least*6/5 {
			t.Errorf("pause %d lasts %s, want %s and up to a fifth more", i, got, least)
		}
	}
	if got := p.next(errors.New("no route"), 0); got > 4*time.Second {
		t.Errorf("after another error it lasts %s", got)
	}
	if got := p.next(excess, 0); got > 36*time.Second {
		t.Errorf("after another error it begins with %s", got)
	}
}

func TestPausesGrowWhileNothingStarts(t *testing.T) {
	p := newBackoff(3 * time.Second)
	err := startFailed(errors.New("the view cannot be filled"))
	for i, least := range []time.Duration{3, 6, 12, 24, 48, 96, 120, 120} {
		if got := p.next(err, time.Minute); got < least*time.Second || got > least*time.Second*6/5 {
			t.Errorf("pause %d lasts %s, want %ds and up to a fifth more", i, got, least)
		}
	}
	if got := p.next(err, 4*time.Minute); got > 4*time.Second {
		t.Errorf("after a session that had started it lasts %s", got)
	}
}
