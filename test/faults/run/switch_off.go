//go:build !seeded

package run

import "github.com/spillway-io/spillway/internal/seeded"

// canSwitch reports whether this binary has the seeded bugs.
const canSwitch = false

func switchBug(seeded.Bug) {}
