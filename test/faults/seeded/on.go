//go:build seeded

package seeded

import (
	"sync"
	"sync/atomic"
)

var (
	current  atomic.Pointer[Bug]
	happened sync.Map
)

// On reports whether the bug is switched on.
func On(bug Bug) bool {
	on := current.Load()
	return on != nil && *on == bug
}

// Once reports whether the bug is switched on, but only for the first call with a key. The key must be
// comparable. It is for what a manager does once after each start.
func Once(bug Bug, key any) bool {
	if !On(bug) {
		return false
	}
	_, again := happened.LoadOrStore(key, true)
	return !again
}

// Switch switches one bug on in the whole process, and all others off. The empty Bug switches all off.
func Switch(bug Bug) {
	current.Store(&bug)
	happened.Clear()
}
