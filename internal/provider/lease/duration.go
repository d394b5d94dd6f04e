package lease

import (
	"fmt"
	"time"
)

// longest is the longest time that a Lease can make us wait.
const longest = 5 * time.Minute

// CheckDuration reports whether Leases can last that long. They state it in seconds, and
// nobody waits longer than longest: a manager relying on more would write beside its
// successor.
func CheckDuration(d time.Duration) error {
	if d < time.Second || d > longest || d%time.Second != 0 {
		return fmt.Errorf("%s is not a number of seconds from 1s to %s", d, longest)
	}
	return nil
}
