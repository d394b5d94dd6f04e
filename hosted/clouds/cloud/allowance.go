package cloud

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// Limits for what a cloud answers. The program works on ten clusters at a time, with 512 MiB of memory. No
// answer may end it, because it renews the tokens of all providers. A cluster with a hundred pools needs a
// tenth of these limits.
const (
	// mostMemory is how much memory all answers that one reconcile reads may take, decoded.
	mostMemory = 16 << 20
	// mostOfAnswer limits a single answer, in bytes.
	mostOfAnswer = 8 << 20
	// mostTime limits the time of all requests of one reconcile.
	mostTime = 5 * time.Minute
	// mostPages limits the pages of a list.
	mostPages = 100
)

// ErrTooMuch: the cloud answers more than may be read.
var ErrTooMuch = fmt.Errorf("the cloud's answer is too large: more than %d MiB at a time, %d MiB of memory in all, or a list of %d pages",
	mostOfAnswer>>20, mostMemory>>20, mostPages)

// Allowance is how much one reconcile may still read.
type Allowance struct {
	until  time.Time
	memory atomic.Int64
}

type allowanceKey struct{}

// WithAllowance returns a context with a new allowance for the requests of one reconcile. It replaces an
// allowance that ctx has, and limits nothing but requests to clouds.
func WithAllowance(ctx context.Context) context.Context {
	return context.WithValue(ctx, allowanceKey{}, newAllowance())
}

// WithoutAllowance returns a context for requests that belong to no reconcile.
func WithoutAllowance(ctx context.Context) context.Context {
	return context.WithValue(ctx, allowanceKey{}, nil)
}

// AllowanceOf returns the allowance of a context. If it has none, for example because a library renews a token,
// AllowanceOf returns a new one.
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

// Deadline returns when the requests must be done.
func (a *Allowance) Deadline() time.Time { return a.until }

// Take subtracts a part of an answer. size is how much of the answer was read so far, in bytes; memory is how
// much the last part takes in memory.
func (a *Allowance) Take(size, memory int64) error {
	if size > mostOfAnswer || a.memory.Add(-memory) < 0 {
		return ErrTooMuch
	}
	return nil
}

// Page returns an error if a list has too many pages. The first page has number 1.
func Page(number int) error {
	if number > mostPages {
		return ErrTooMuch
	}
	return nil
}
