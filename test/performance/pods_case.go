package performance

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// sharedObjects is how many ConfigMaps, and how many Secrets, pods share.
const sharedObjects = 10

// PodsCase is one way to roll pods out.
type PodsCase struct {
	// N is how many pods there are, all created at once.
	N int
	// Shared tells that each pod uses one of ten ConfigMaps and one of ten
	// Secrets.
	Shared bool
	// Providers is among how many providers the pods are spread.
	Providers int
	// Scheduled tells that a scheduler of the consumer puts the pods on the
	// virtual nodes; else they name their node.
	Scheduled bool
}

// String is the case as CASES has it, with N before: 500/plain/1/direct.
func (c PodsCase) String() string { return fmt.Sprintf("%d/%s", c.N, c.kind()) }

// kind is the case without N.
func (c PodsCase) kind() string {
	return fmt.Sprintf("%s/%d/%s", c.pods(), c.Providers, c.binding())
}

func (c PodsCase) pods() string {
	if c.Shared {
		return "shared"
	}
	return "plain"
}

func (c PodsCase) binding() string {
	if c.Scheduled {
		return "scheduler"
	}
	return "direct"
}

// The sizes and the numbers of providers that are measured by default, in the cases that
// differ from the plainest in one thing at most.
var (
	defaultPodSizes  = []int{500, 2000}
	defaultProviders = []int{1, 3}
)

// podsCases are the cases that the variables PODS (sizes, as in 100,500) and
// CASES (as in plain/1/direct,shared/3/scheduler) ask for; by default, without
// values, those that make bench measures. They come in the order of their
// providers: of each number there is a set of clusters.
func podsCases(podsVar, casesVar string) ([]PodsCase, error) {
	sizes, err := podSizes(podsVar)
	if err != nil {
		return nil, err
	}
	kinds, err := podKinds(casesVar)
	if err != nil {
		return nil, err
	}
	var cases []PodsCase
	for _, kind := range kinds {
		for _, n := range sizes {
			if casesVar != "" || kind.differences() <= 1 {
				kind.N = n
				cases = append(cases, kind)
			}
		}
	}
	slices.SortStableFunc(cases, func(a, b PodsCase) int { return cmp.Compare(a.Providers, b.Providers) })
	return cases, nil
}

// differences counts in what the case is not the plainest.
func (c PodsCase) differences() int {
	n := 0
	for _, differs := range []bool{c.Shared, c.Scheduled, c.Providers > 1} {
		if differs {
			n++
		}
	}
	return n
}

func podSizes(value string) ([]int, error) {
	if value == "" {
		return defaultPodSizes, nil
	}
	var sizes []int
	for _, size := range strings.Split(value, ",") {
		n, err := strconv.Atoi(size)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("PODS=%s: %q is no number of pods", value, size)
		}
		sizes = append(sizes, n)
	}
	return sizes, nil
}

// podKinds are cases without their N.
func podKinds(value string) ([]PodsCase, error) {
	var kinds []PodsCase
	if value == "" {
		for _, providers := range defaultProviders {
			for _, scheduled := range []bool{false, true} {
				for _, shared := range []bool{false, true} {
					kinds = append(kinds, PodsCase{Providers: providers, Scheduled: scheduled, Shared: shared})
				}
			}
		}
		return kinds, nil
	}
	for _, text := range strings.Split(value, ",") {
		kind, err := podKind(text)
		if err != nil {
			return nil, fmt.Errorf("CASES=%s: %w", value, err)
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

func podKind(text string) (PodsCase, error) {
	for providers := range 10 {
		for _, kind := range []PodsCase{
			{Providers: providers}, {Providers: providers, Shared: true},
			{Providers: providers, Scheduled: true}, {Providers: providers, Shared: true, Scheduled: true},
		} {
			if providers > 0 && kind.kind() == text {
				return kind, nil
			}
		}
	}
	return PodsCase{}, fmt.Errorf("%q is not plain or shared, the number of providers, and direct or scheduler, as in plain/1/direct", text)
}

// podWays are the ways that the variable WAYS (as in spillway,floor) asks for, or all.
func podWays(value string) ([]Way, error) {
	all := []Way{Floor, Ours, Direct}
	if value == "" {
		return all, nil
	}
	var ways []Way
	for _, text := range strings.Split(value, ",") {
		if !slices.Contains(all, Way(text)) {
			return nil, fmt.Errorf("WAYS=%s: %q is not %s, %s or %s", value, text, Ours, Floor, Direct)
		}
		ways = append(ways, Way(text))
	}
	return ways, nil
}
