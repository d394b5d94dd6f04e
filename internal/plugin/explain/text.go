package explain

import (
	"fmt"
	"strings"
)

// Text returns the explanation for people.
func Text(e Explanation) string {
	var b strings.Builder
	fmt.Fprintf(&b, "pod %s/%s: %s\n", e.Namespace, e.Pod, e.Phase)
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		fmt.Fprintln(&b, title)
		for _, one := range lines {
			fmt.Fprintln(&b, "  - "+one)
		}
	}
	section("where it is, and why:", e.Where)
	var order []string
	for _, tier := range e.Tiers {
		order = append(order, tier.String())
	}
	section("the tiers of spec.overflow:", order)
	var waits []string
	for _, wait := range e.Waits {
		waits = append(waits, wait.String())
	}
	section("what it waits for, or what is wrong:", waits)
	section("what is not sent to the provider:", e.LeftOut)
	section("events:", e.Events)
	return b.String()
}
