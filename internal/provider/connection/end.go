package connection

import (
	"context"
	"fmt"
)

// ending is the context key of the function that ends a connection.
type ending struct{}

// WithEnd returns a context with which End calls end, from any goroutine. The owner of a
// connection uses it.
func WithEnd(ctx context.Context, end func(error)) context.Context {
	return context.WithValue(ctx, ending{}, end)
}

// End ends the connection of ctx because of err. The owner connects again in a moment, and the binding reports
// why. A part of a connection that cannot continue calls End, because half a connection is worse than none. End
// does nothing if the connection has already ended.
func End(ctx context.Context, err error) {
	if end, ok := ctx.Value(ending{}).(func(error)); ok && ctx.Err() == nil && err != nil {
		end(err)
	}
}

// Go runs do, a part of the connection, in a goroutine. If do fails, Go ends the connection. The error begins
// with what, which says what cannot be done.
func Go(ctx context.Context, what string, do func(context.Context) error) {
	go func() {
		if err := do(ctx); err != nil {
			End(ctx, fmt.Errorf("%s: %w", what, err))
		}
	}()
}
