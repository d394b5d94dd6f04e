package state

import "time"

// When the cluster is looked at again.
const (
	// DefaultInterval is the time between two reads of a cluster that nobody changes.
	DefaultInterval = 5 * time.Minute
	// Something is in flight.
	leastFlight, mostFlight = 15 * time.Second, 2 * time.Minute
	// There was an error.
	leastError, mostError = 5 * time.Second, 5 * time.Minute
	// jitter of the interval, in both directions.
	jitter = 0.1
	// RetryFailed is when a request that was refused, or an operation that has failed, is
	// tried again: each try may replace nodes.
	RetryFailed = time.Hour
)

// Delay returns when to look again at a cluster that has been in the phase for some time.
// It doubles while that lasts. The time may have jumped: what is negative, or far too long,
// gives the shortest or the longest delay. random is from 0 to 1.
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

// AfterError returns when to try again what has failed for some time.
func AfterError(lasted time.Duration) time.Duration { return min(max(lasted, leastError), mostError) }
