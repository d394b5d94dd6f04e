package docs_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spillway-io/spillway/test/faults/scenario"
	"github.com/spillway-io/spillway/test/faults/seeded"
)

var (
	tableRow  = regexp.MustCompile(`(?m)^\| ([a-z][a-z0-9-]+) \|.*\|$`)
	unplayed  = regexp.MustCompile(`(?m)^Not played yet, (bugs|scenarios): (.*)$`)
	codeQuote = regexp.MustCompile("`([a-z0-9-]+)`")
)

// TestReliabilityNamesAll compares reliability.md with the bugs and scenarios that exist. Each must be
// in a table of the page, or the page must say that it is missing.
func TestReliabilityNamesAll(t *testing.T) {
	raw, err := os.ReadFile("reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	_, results, found := strings.Cut(page, "\n| scenario | points |")
	scenarios, bugs, both := strings.Cut(results, "\n| seeded bug |")
	if !found || !both {
		t.Fatal("reliability.md lacks its tables")
	}
	later := map[string][]string{}
	for _, match := range unplayed.FindAllStringSubmatch(page, -1) {
		later[match[1]] = firsts(codeQuote.FindAllStringSubmatch(match[2], -1))
	}
	t.Run("bugs", func(t *testing.T) {
		var all []string
		for _, bug := range seeded.All() {
			all = append(all, string(bug.Bug))
		}
		accountsFor(t, all, firsts(tableRow.FindAllStringSubmatch(bugs, -1)), later["bugs"])
	})
	t.Run("scenarios", func(t *testing.T) {
		var all []string
		for _, s := range slices.Concat(scenario.All(), scenario.OutOfBand(), scenario.Identity()) {
			all = append(all, s.Name)
		}
		accountsFor(t, all, firsts(tableRow.FindAllStringSubmatch(scenarios, -1)), later["scenarios"])
	})
}

// firsts returns the first group of each match.
func firsts(matches [][]string) []string {
	var all []string
	for _, match := range matches {
		all = append(all, match[1])
	}
	return all
}

// accountsFor checks that each name in all is either in played or in later, and that these have no
// other names.
func accountsFor(t *testing.T, all, played, later []string) {
	t.Helper()
	count := map[string]int{}
	for _, name := range slices.Concat(played, later) {
		count[name]++
	}
	for _, name := range all {
		if count[name] != 1 {
			t.Errorf("%s is named %d times, in the table or as not played yet: want once", name, count[name])
		}
		delete(count, name)
	}
	for _, name := range slices.Sorted(maps.Keys(count)) {
		t.Errorf("there is no %s in the code", name)
	}
}
