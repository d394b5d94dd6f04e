package docs_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var metric = regexp.MustCompile("[`\"](spillway_[a-z_]+)[{`\"]")

// TestTroubleshootingNamesMetrics compares the table of metrics with the metrics that exist.
func TestTroubleshootingNamesMetrics(t *testing.T) {
	page, err := os.ReadFile("troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Metrics\n")
	table, _, _ := strings.Cut(section, "\n### ")
	said, there := map[string]bool{}, map[string]bool{}
	for _, line := range strings.Split(table, "\n") {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, match := range metric.FindAllStringSubmatch(cell, -1) {
			said[match[1]] = true
		}
	}
	sources, err := filepath.Glob("../internal/metrics/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		code, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range metric.FindAllStringSubmatch(string(code), -1) {
			there[match[1]] = true
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(there)), slices.Sorted(maps.Keys(said))); diff != "" || len(there) == 0 {
		t.Errorf("metrics (-there +said):\n%s", diff)
	}
}
