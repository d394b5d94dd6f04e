package test

import (
	"context"
	"errors"
	"time"

	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// errRefused is the cause when a step gives up because its object is refused.
var errRefused = errors.New("it is refused")

// stalled is the cause when a step gives up after so long, although --timeout has not passed.
type stalled time.Duration

func (s stalled) Error() string { return time.Duration(s).String() + " have passed" }

// waited reports whether a step has failed because something has not come in time.
func waited(err error) bool {
	var late stalled
	return errors.Is(err, cli.ErrTime) || errors.Is(err, errRefused) || errors.As(err, &late)
}

const (
	// refusalLasts is how long a refusal must last.
	refusalLasts = 5 * time.Second
	// moment is how long something may take that a healthy provider does in a second or two, and volume how long the
	// provider may take until the node attaches a new volume.
	moment, volume = 40 * time.Second, 2 * time.Minute
)

// patience ends a wait early if the object is refused, and stays so, or if it does not get on. The manager may overcome a
// refusal of the first moment, for example until the provider has a new ServiceAccount.
type patience struct {
	cancel context.CancelCauseFunc
	lasts  time.Duration
	// timer runs while the object is refused, and idle while it does not get on.
	timer, idle *time.Timer
}

// newPatience returns a context that ends if nothing gets on for that long.
func newPatience(ctx context.Context, lasts time.Duration) (context.Context, *patience) {
	ctx, cancel := context.WithCancelCause(ctx)
	p := &patience{cancel: cancel, lasts: lasts}
	p.gets(false)
	return ctx, p
}

// gets says whether the object gets on, so that a wait makes sense.
func (p *patience) gets(on bool) {
	switch {
	case !on && p.idle == nil:
		p.idle = time.AfterFunc(p.lasts, func() { p.cancel(stalled(p.lasts)) })
	case on && p.idle != nil:
		p.idle.Stop()
		p.idle = nil
	}
}

// refused says whether the object is refused now.
func (p *patience) refused(is bool) {
	switch {
	case is && p.timer == nil:
		p.timer = time.AfterFunc(refusalLasts, func() { p.cancel(errRefused) })
	case !is && p.timer != nil:
		p.timer.Stop()
		p.timer = nil
	}
}

// afterwards returns a context in which to look, for a short time, at what a step has left when its time was over.
func afterwards(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), refusalLasts)
}

func (p *patience) end() {
	for _, timer := range []*time.Timer{p.timer, p.idle} {
		if timer != nil {
			timer.Stop()
		}
	}
	p.cancel(nil)
}
