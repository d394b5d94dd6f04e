package cloud

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// What a cloud may take. Ten clusters are worked on at a time, with 512 MiB of memory: what
// one cloud answers must not end the program, and with it the tokens of all providers. A
// cluster with a hundred pools takes a tenth of it.
const (
	// mostMemory is what all answers take in memory, decoded, that one reconcile reads.
	mostMemory = 16 << 20
	// mostOfAnswer limits a single answer, in bytes.
	mostOfAnswer = 8 << 20
	// mostTime is for all requests of one reconcile.
	mostTime = 5 * time.Minute
	// mostPages limits a list.
	mostPages = 100
)

// ErrTooMuch: the cloud answers more than may be read.
var ErrTooMuch = fmt.Errorf("the cloud answers too much: more than %d MiB at a time, %d MiB of memory in all, or a list of %d pages",
	mostOfAnswer>>20, mostMemory>>20, mostPages)

// Allowance is what is left of it.
type Allowance struct {
	until  time.Time
	memory atomic.Int64
}

type allowanceKey struct{}

// WithAllowance returns a context for the requests of one reconcile, with an allowance of
// their own: it takes the place of another one. It bounds nothing else that the context is
// used for.
func WithAllowance(ctx context.Context) context.Context {
	return context.WithValue(ctx, allowanceKey{}, newAllowance())
}

// WithoutAllowance returns a context for requests of no reconcile.
func WithoutAllowance(ctx context.Context) context.Context {
	return context.WithValue(ctx, allowanceKey{}, nil)
}

// AllowanceOf returns the allowance of a context. Where there is none, such as where a library
// renews a token, it is a new one.
func AllowanceOf(ctx context.Context) *Allowance {
	if a, ok := ctx.Value(allowanceKey{}).(*Allowance); ok {
		return a
	}
	return newAllowance()
}

func newAllowance() *Allowance {
	a := &Allowance{until: time.Now().Add(mostTime)}
	a.memory.Store(mostMemory)
	return a
}

// Deadline returns when its time is over.
func (a *Allowance) Deadline() time.Time { return a.until }

// Take takes of it what was read of an answer: size is how much was read so far, in bytes, and
// memory what the last part takes.
func (a *Allowance) Take(size, memory int64) error {
	if size > mostOfAnswer || a.memory.Add(-memory) < 0 {
		return ErrTooMuch
	}
	return nil
}

// Page returns an error if a list has too many pages. The first one is number 1.
func Page(number int) error {
	if number > mostPages {
		return ErrTooMuch
	}
	return nil
}
