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

// PodsCase is one kind of roll-out of pods.
type PodsCase struct {
	// N is the number of pods, all created at once.
	N int
	// Shared means that each pod uses one of ten ConfigMaps and one of ten Secrets.
	Shared bool
	// Providers is over how many providers the pods are spread.
	Providers int
	// Scheduled means that the consumer's scheduler puts the pods on the virtual nodes. Otherwise they name
	// their node.
	Scheduled bool
}

// String returns the case as in CASES, with N before: 500/plain/1/direct.
func (c PodsCase) String() string { return fmt.Sprintf("%d/%s", c.N, c.kind()) }

// kind returns the case without N.
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

// The default sizes and numbers of providers. The default cases differ from the plainest in at most one
// thing.
var (
	defaultPodSizes  = []int{500, 2000}
	defaultProviders = []int{1, 3}
)

// podsCases returns the cases of the variables PODS (sizes, as in 100,500) and CASES (as in
// plain/1/direct,shared/3/scheduler). If both are empty, it returns the cases of make bench. They are ordered
// by number of providers, since each number has its own clusters.
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

// differences counts in how many things the case differs from the plainest.
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

// podKinds returns the cases of CASES without N.
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

// podWays returns the ways of the variable WAYS (as in spillway,floor), or all.
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
