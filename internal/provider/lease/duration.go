package lease

import (
	"fmt"
	"time"
)

// longest is the longest time that a Lease can make a manager wait.
const longest = 5 * time.Minute

// CheckDuration returns an error if Leases cannot last that long. They state the duration in seconds, and
// nobody waits longer than longest. A manager that relied on more would write beside its successor.
func CheckDuration(d time.Duration) error {
	if d < time.Second || d > longest || d%time.Second != 0 {
		return fmt.Errorf("%s is not a number of seconds from 1s to %s", d, longest)
	}
	return nil
}
