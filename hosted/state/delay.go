package state

import (
	"time"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

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
	// RetryForbidden is how long to wait after a request for which a right was missing. It has changed nothing.
	RetryForbidden = 10 * time.Minute
	// leastBusy and mostBusy limit how long to wait after a request that the cloud refused because it was doing
	// something else, or throttled.
	leastBusy, mostBusy = 15 * time.Second, 10 * time.Minute
	// leastDeletion is how long to wait at first after a deletion that was refused or has failed. It replaces no
	// nodes, and often waits for something that ends by itself, such as a network interface that is detached.
	leastDeletion = time.Minute
	// Hung is how long to wait while the cloud does not answer for another cluster with the same credentials.
	Hung = time.Minute
	// Soon is how long to wait if there is more to send.
	Soon = time.Second
)

// Pause returns how long a request waits after it was refused for a reason. If it is harmless, that is twice as
// long as the last time, within limits.
func Pause(reason string, deletes bool, last time.Duration) time.Duration {
	switch {
	case reason == v1alpha1.ReasonBusy:
		return min(max(2*last, leastBusy), mostBusy)
	case reason == v1alpha1.ReasonRightMissing:
		return RetryForbidden
	case deletes:
		return min(max(2*last, leastDeletion), RetryFailed)
	default:
		return RetryFailed
	}
}

// Delay returns how long to wait before the cluster is read again. lasted is how long it has been in the phase.
// In a phase that should end soon, such as Creating, the delay is as long as lasted, within limits. So it doubles
// while the phase lasts. If the clock jumps, lasted may be negative or far too long. The delay is then the shortest
// or the longest one. In all other phases the delay is the interval, give or take the jitter. random is from 0 to 1,
// and chooses the jitter.
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

// AfterError returns how long to wait before a retry. lasted is how long the errors have lasted.
func AfterError(lasted time.Duration) time.Duration { return min(max(lasted, leastError), mostError) }
