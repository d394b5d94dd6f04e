package performance

import "fmt"

// Broken says which bounds the runs of a case have broken.
func (r PodsResult) Broken() []error {
	var broken []error
	atMost := func(what string, got, most int) {
		if got > most {
			broken = append(broken, fmt.Errorf("%s: %d %s, want at most %d", r.Case, got, what, most))
		}
	}
	others := writesBesidesPods
	if r.Case.Shared {
		others += writesOfShared * 2 * sharedObjects * r.Case.Providers
	}
	for _, cost := range r.Costs() {
		atMost("writes of pods", cost.PodWrites, writesBesidesStatus*r.Case.N+cost.StatusChanges)
		atMost("writes of anything but pods", cost.OtherWrites, others)
		atMost("reads", cost.Reads, 0)
	}
	return broken
}

// Broken says what should not be.
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
