//go:build seeded

package run

import "github.com/spillway-io/spillway/test/faults/seeded"

// canSwitch reports whether this binary has the seeded bugs.
const canSwitch = true

// switchBug switches one bug on, and all others off; "" is none.
func switchBug(bug seeded.Bug) { seeded.Switch(bug) }
