package holder

import (
	"fmt"
	"time"
)

// longest is the longest time that a Lease can make us wait.
const longest = 5 * time.Minute

// CheckDuration reports whether Leases can be held for a duration. They say it in
// seconds, and nobody waits for one longer than longest: a manager that counts on
// more than others wait for would write beside the next one.
func CheckDuration(d time.Duration) error {
	if d < time.Second || d > longest || d%time.Second != 0 {
		return fmt.Errorf("%s is not a number of seconds from 1s to %s", d, longest)
	}
	return nil
}
