package spill

import "time"

// Growth is what is known about new nodes of a provider for a pod that waits there.
type Growth struct {
	// After is how long the pod waits for a new node; 0: the provider does not grow, or no new node would help the pod.
	After time.Duration
	// Declined reports that the provider's autoscaler has said that it starts no node for the pod.
	Declined bool
}

// Patience returns how long a provider may fail to place a pod. after is how long one may that does not grow. A no of
// the autoscaler ends the wait: nobody knows more about new nodes.
func (g Growth) Patience(after time.Duration) time.Duration {
	switch {
	case g.After <= 0:
		return after
	case g.Declined:
		return 0
	}
	return g.After
}
