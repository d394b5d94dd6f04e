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
func (c PodsCase) String() string {
	pods, binding := "plain", "direct"
	if c.Shared {
		pods = "shared"
	}
	if c.Scheduled {
		binding = "scheduler"
	}
	return fmt.Sprintf("%d/%s/%d/%s", c.N, pods, c.Providers, binding)
}

// The default sizes, and the default cases: the plainest one, and those that differ from it in one thing.
const (
	defaultPods  = "500,2000"
	defaultCases = "plain/1/direct,shared/1/direct,plain/1/scheduler,plain/3/direct"
)

// podsCases returns the cases of the variables PODS (sizes, as in 100,500) and CASES (as in
// plain/1/direct,shared/3/scheduler); by default those of make bench. They are ordered by number of
// providers, since each number has its own clusters.
func podsCases(pods, kinds string) ([]PodsCase, error) {
	var cases []PodsCase
	for _, kind := range strings.Split(cmp.Or(kinds, defaultCases), ",") {
		for _, n := range strings.Split(cmp.Or(pods, defaultPods), ",") {
			c, err := parseCase(n + "/" + kind)
			if err != nil {
				return nil, err
			}
			cases = append(cases, c)
		}
	}
	slices.SortStableFunc(cases, func(a, b PodsCase) int { return cmp.Compare(a.Providers, b.Providers) })
	return cases, nil
}

// parseCase is the reverse of String.
func parseCase(text string) (PodsCase, error) {
	var c PodsCase
	parts := strings.Split(text, "/")
	if len(parts) == 4 {
		c.N, _ = strconv.Atoi(parts[0])
		c.Providers, _ = strconv.Atoi(parts[2])
		c.Shared, c.Scheduled = parts[1] == "shared", parts[3] == "scheduler"
	}
	if c.String() != text || c.N < 1 || c.Providers < 1 {
		return c, fmt.Errorf("%q is not the number of pods, plain or shared, the number of providers, and direct or scheduler, as in %s", text, boundedCase)
	}
	return c, nil
}

// Way says how the pods get into the provider.
type Way string

const (
	// Ours is Spillway.
	Ours Way = "spillway"
	// Floor is the minimal program, see package floor.
	Floor Way = "floor"
	// Direct creates pods in the provider, without a consumer.
	Direct Way = "provider"
)

// podWays returns the ways of the variable WAYS (as in spillway,floor), or all.
func podWays(value string) ([]Way, error) {
	all := []Way{Floor, Ours, Direct}
	if value == "" {
		return all, nil
	}
	var ways []Way
	for _, text := range strings.Split(value, ",") {
		if !slices.Contains(all, Way(text)) {
			return nil, fmt.Errorf("WAYS=%s: %q is not one of %v", value, text, all)
		}
		ways = append(ways, Way(text))
	}
	return ways, nil
}
