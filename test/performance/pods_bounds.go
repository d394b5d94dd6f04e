package performance

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Broken returns the bounds on counts that the runs of a case have broken.
func (r PodsResult) Broken() []error {
	var broken []error
	atMost := func(what string, got, most int) {
		if got > most {
			broken = append(broken, fmt.Errorf("%s: %d %s, want at most %d", r.Case, got, what, most))
		}
	}
	atLeast := func(what string, got, least int) {
		if got < least {
			broken = append(broken, fmt.Errorf("%s: %d %s, want at least %d", r.Case, got, what, least))
		}
	}
	others := writesBesidesPods
	if r.Case.Shared {
		others += writesOfShared * 2 * sharedObjects * r.Case.Providers
	}
	for _, cost := range r.Costs() {
		atMost("writes of pods", cost.PodWrites, writesBesidesStatus*r.Case.N+cost.StatusChanges)
		atMost("writes of pods on this rig", cost.PodWrites, int(writesOnRig*float64(r.Case.N)))
		atLeast("writes of pods that were counted", cost.PodWrites, writesWithStatus*r.Case.N)
		atMost("writes of anything but pods", cost.OtherWrites, others)
		atMost("reads", cost.Reads, 0)
		atMost("watches begun", cost.Watches, cost.Renewals+cost.Slow)
		for _, opened := range cost.Opened {
			broken = append(broken, fmt.Errorf("%s: %s", r.Case, opened))
		}
	}
	return broken
}

// Broken returns what is wrong with the counts.
func (c Counted) Broken() []error {
	var broken []error
	if c.NoOps > 0 {
		broken = append(broken, fmt.Errorf("%s: %d writes changed nothing", c.Case, c.NoOps))
	}
	for _, difference := range c.Differences {
		broken = append(broken, fmt.Errorf("%s: %s", c.Case, difference))
	}
	return broken
}

// opened compares the numbers of open watches, by "cluster: resource", and returns those that have grown.
func opened(before, after map[string]int) []string {
	var more []string
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if is, was := after[key], before[key]; is > was {
			more = append(more, fmt.Sprintf("%d watches are open of %s, and were %d", is, key, was))
		}
	}
	return more
}

// mostRenewals returns how many of the open watches may be renewed in that time. One more of each is allowed,
// because the interval may begin or end at the edge.
func mostRenewals(open map[string]int, during time.Duration) int {
	total := 0
	for _, n := range open {
		total += n
	}
	return total * (int(during/watchInterval) + 1)
}
