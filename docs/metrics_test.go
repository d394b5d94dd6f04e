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

const rules = "../charts/spillway/rules/spillway.yaml"

var (
	alert   = regexp.MustCompile(`(?m)^  - alert: (\w+)$`)
	runbook = regexp.MustCompile(`(?m)^      runbook_url: (\S+)$`)
	section = regexp.MustCompile(`(?m)^## (\w+)$`)
	matched = regexp.MustCompile(`\b(condition|phase|reason|direction)=~?\\?"([^"\\]+)\\?"`)
)

func read(t *testing.T, pattern string) string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no file (%v)", pattern, err)
	}
	var text strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(content)
	}
	return text.String()
}

// TestRunbooks: each alert has its section in the runbooks, in the same order, and leads there.
func TestRunbooks(t *testing.T) {
	alerts := firsts(alert.FindAllStringSubmatch(read(t, rules), -1))
	if diff := cmp.Diff(alerts, firsts(section.FindAllStringSubmatch(read(t, "runbooks.md"), -1))); diff != "" {
		t.Errorf("sections of runbooks.md (-alerts +sections):\n%s", diff)
	}
	var want []string
	for _, name := range alerts {
		want = append(want, "https://github.com/spillway-io/spillway/blob/main/docs/runbooks.md#"+strings.ToLower(name))
	}
	if diff := cmp.Diff(want, firsts(runbook.FindAllStringSubmatch(read(t, rules), -1))); diff != "" || len(want) == 0 {
		t.Errorf("runbook_url (-want +got):\n%s", diff)
	}
}

// TestMatchedValues: the code knows each value of a label that an alert or a dashboard looks for.
func TestMatchedValues(t *testing.T) {
	code := read(t, "../api/v1alpha1/*.go") + read(t, "../internal/metrics/*.go") + read(t, "../internal/kubelet/kubeletapi/*.go") + read(t, "../internal/kubelet/*.go")
	queries := matched.FindAllStringSubmatch(read(t, rules)+read(t, "../charts/spillway/dashboards/*.json"), -1)
	if len(queries) < 5 {
		t.Fatalf("only %d labels are matched", len(queries))
	}
	for _, match := range queries {
		for value := range strings.SplitSeq(match[2], "|") {
			if !strings.Contains(code, `"`+value+`"`) {
				t.Errorf("nothing sets %s to %s", match[1], value)
			}
		}
	}
}
