package connection

import (
	"context"
	"fmt"
)

// ending is the key of what ends the connection that a context belongs to.
type ending struct{}

// WithEnd is for who keeps a connection: End with the context calls end, from
// whichever goroutine.
func WithEnd(ctx context.Context, end func(error)) context.Context {
	return context.WithValue(ctx, ending{}, end)
}

// End ends the connection that ctx belongs to, because of err: it is made again
// in a moment, and the binding says why. What belongs to a connection and cannot
// go on calls it, for half of it would be worse than none. It does nothing for a
// connection that has ended.
func End(ctx context.Context, err error) {
	if end, ok := ctx.Value(ending{}).(func(error)); ok && ctx.Err() == nil && err != nil {
		end(err)
	}
}

// Go does something that belongs to the connection, beside the caller. If it fails, that
// ends the connection; what says what cannot be done then.
func Go(ctx context.Context, what string, do func(context.Context) error) {
	go func() {
		if err := do(ctx); err != nil {
			End(ctx, fmt.Errorf("%s: %w", what, err))
		}
	}()
}
