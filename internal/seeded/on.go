//go:build seeded

package seeded

import "sync/atomic"

var current atomic.Pointer[Bug]

// On tells whether the bug is switched on.
func On(bug Bug) bool {
	on := current.Load()
	return on != nil && *on == bug
}

// Switch switches one bug on, in the whole process, and all others off. The
// empty Bug switches all off.
func Switch(bug Bug) { current.Store(&bug) }
