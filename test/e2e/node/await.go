package node

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// finalError is an error that waiting does not help against.
type finalError struct{ error }

func (e *finalError) Unwrap() error { return e.error }

// await calls try until it returns nil or a finalError, for at most patience. Its error says what was still
// missing.
func await(ctx context.Context, patience time.Duration, try func(context.Context) error) error {
	const interval = 100 * time.Millisecond
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		missing := try(ctx)
		var final *finalError
		if missing == nil || errors.As(missing, &final) {
			return missing
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up after %s: %w", patience, missing)
		case <-ticker.C:
		}
	}
}
