package test

import (
	"context"
	"errors"
	"time"
)

// errRefused is the cause when a step gives up because its object is refused.
var errRefused = errors.New("it is refused")

// patience ends a wait early if the object is refused, and stays so. The manager may overcome a refusal of the first
// moment, for example until the provider has a new ServiceAccount.
type patience struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer
}

// refusalLasts is how long a refusal must last.
const refusalLasts = 5 * time.Second

func newPatience(ctx context.Context) (context.Context, *patience) {
	ctx, cancel := context.WithCancelCause(ctx)
	return ctx, &patience{cancel: cancel}
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
	if p.timer != nil {
		p.timer.Stop()
	}
	p.cancel(nil)
}
