package fleet

import (
	"context"
	"errors"
	"fmt"
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

func TestPausesGrowWhileThereIsNoAnswer(t *testing.T) {
	p := newBackoff(2 * time.Second)
	late := fmt.Errorf("identifying: %w", context.DeadlineExceeded)
	for i, least := range []float64{2, 3, 4.5, 6.75, 10.125, 15.1875, 20, 20} {
		wait := time.Duration(least * float64(time.Second))
		if got := p.next(late, time.Second); got < wait || got > wait*6/5 {
			t.Errorf("pause %d lasts %s, want %s and up to a fifth more", i, got, wait)
		}
	}
	if got := p.next(errors.New("no route"), time.Second); got > 3*time.Second {
		t.Errorf("after another error it lasts %s", got)
	}
}
