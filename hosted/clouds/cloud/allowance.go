package cloud

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Limits for what a cloud answers. The program works on 64 clusters at a time, with 512 MiB of memory. No
// answer may end it, because it renews the tokens of all providers. A cluster with a hundred pools needs a
// tenth of these limits.
const (
	// mostMemory is how much memory all answers that one reconcile reads may take, decoded.
	mostMemory = 16 << 20
	// ownMemory is how much of that each reconcile has for itself. A cluster with fifty pools needs no more. So no
	// other cloud can keep it from being read.
	ownMemory = 1 << 20
	// sharedMemory is how much all reconciles together may take beyond that.
	sharedMemory = 96 << 20
	// mostOfAnswer limits a single answer, in bytes.
	mostOfAnswer = 8 << 20
	// mostTime limits the time of all requests of one reconcile.
	mostTime = 3 * time.Minute
	// mostPages limits the pages of a list.
	mostPages = 100
)

// ErrTooMuch: the cloud answers more than may be read.
var ErrTooMuch = fmt.Errorf("the cloud's answer is too large: more than %d MiB at a time, %d MiB of memory in all, or a list of %d pages",
	mostOfAnswer>>20, mostMemory>>20, mostPages)

// ErrNoRoom: the answer is not too large, but large answers about other clusters are being read.
var ErrNoRoom = fmt.Errorf("the cloud's answer takes more than %d MiB of memory, and for now, answers about other clusters take the %d MiB that are for larger ones",
	ownMemory>>20, sharedMemory>>20)

// shared is the memory that no reconcile has taken.
var shared = func() *atomic.Int64 {
	var left atomic.Int64
	left.Store(sharedMemory)
	return &left
}()

// Allowance is how much one reconcile may still read.
type Allowance struct {
	until time.Time

	lock sync.Mutex
	// memory is how much was taken, and borrowed how much of that is shared memory.
	memory, borrowed int64
	ended            bool
}

type allowanceKey struct{}

// WithAllowance returns a context with a new allowance for the requests of one reconcile. It replaces an
// allowance that ctx has, and limits nothing but requests to clouds. The caller must call done once it has
// forgotten the answers.
func WithAllowance(ctx context.Context) (with context.Context, done func()) {
	a := newAllowance()
	return context.WithValue(ctx, allowanceKey{}, a), a.end
}

// WithoutAllowance returns a context for requests that belong to no reconcile.
func WithoutAllowance(ctx context.Context) context.Context {
	return context.WithValue(ctx, allowanceKey{}, nil)
}

// AllowanceOf returns the allowance of a context. If it has none, for example because a library renews a token,
// AllowanceOf returns a new one, without shared memory.
func AllowanceOf(ctx context.Context) *Allowance {
	if a, ok := ctx.Value(allowanceKey{}).(*Allowance); ok && a != nil {
		return a
	}
	a := newAllowance()
	a.end()
	return a
}

func newAllowance() *Allowance { return &Allowance{until: time.Now().Add(mostTime)} }

// Deadline returns when the requests must be done.
func (a *Allowance) Deadline() time.Time { return a.until }

// Take subtracts a part of an answer. size is how much of the answer was read so far, in bytes; memory is how
// much the last part takes in memory.
func (a *Allowance) Take(size, memory int64) error {
	a.lock.Lock()
	defer a.lock.Unlock()
	a.memory += memory
	if size > mostOfAnswer || a.memory > mostMemory {
		return ErrTooMuch
	}
	more := a.memory - ownMemory - a.borrowed
	switch {
	case more <= 0:
		return nil
	case a.ended:
		return ErrTooMuch
	case shared.Add(-more) < 0:
		shared.Add(more)
		return ErrNoRoom
	}
	a.borrowed += more
	return nil
}

// end gives the shared memory back.
func (a *Allowance) end() {
	a.lock.Lock()
	defer a.lock.Unlock()
	shared.Add(a.borrowed)
	a.borrowed, a.ended = 0, true
}

// Page returns an error if a list has too many pages. The first page has number 1.
func Page(number int) error {
	if number > mostPages {
		return ErrTooMuch
	}
	return nil
}
