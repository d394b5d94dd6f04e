package state

import "time"

// When to read the cluster again.
const (
	// DefaultInterval is the time between two reads of a cluster that nobody changes.
	DefaultInterval = 5 * time.Minute
	// Limits of the delay while something is in progress.
	leastFlight, mostFlight = 15 * time.Second, 2 * time.Minute
	// Limits of the delay after an error.
	leastError, mostError = 5 * time.Second, 5 * time.Minute
	// jitter varies the interval by this part, in both directions.
	jitter = 0.1
	// RetryFailed is how long to wait after a request was refused or an operation has failed, because each
	// attempt may replace nodes.
	RetryFailed = time.Hour
)

// Delay returns when to read a cluster again that has been in the phase for some time. The delay doubles
// while the phase lasts. If the clock jumps, lasted may be negative or far too long; then the delay is the
// shortest or the longest one. random is from 0 to 1.
func Delay(phase Phase, lasted, interval time.Duration, random float64) time.Duration {
	switch phase {
	case Creating, Writing, Waiting, Verifying, ForeignUpdate, Deleting:
		return min(max(lasted, leastFlight), mostFlight)
	case Incomplete:
		return AfterError(lasted)
	default:
		if interval <= 0 {
			interval = DefaultInterval
		}
		return time.Duration(float64(interval) * (1 - jitter + 2*jitter*random))
	}
}

// AfterError returns when to retry what has been failing for some time.
func AfterError(lasted time.Duration) time.Duration { return min(max(lasted, leastError), mostError) }
