//go:build !seeded

package run

import "github.com/spillway-io/spillway/test/faults/seeded"

// canSwitch reports whether this binary has the seeded bugs.
const canSwitch = false

func switchBug(seeded.Bug) {}
