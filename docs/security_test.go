// Package docs_test compares the documentation with the code.
package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	row       = regexp.MustCompile(`(?m)^\| [A-Z][0-9]+ \|.*\|$`)
	reference = regexp.MustCompile("`([^`]+)`: ([^;]+)")
	separator = regexp.MustCompile(`, (?:and )?`)
)

// TestSecurityNamesTests checks that each requirement in security.md names tests, and that each test is
// in the file that the page names.
func TestSecurityNamesTests(t *testing.T) {
	page, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	required, _, _ := strings.Cut(string(page), "\n## Open\n")
	rows := row.FindAllString(required, -1)
	if len(rows) == 0 {
		t.Fatal("security.md has no requirements")
	}
	for _, line := range rows {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		t.Run(cells[0], func(t *testing.T) {
			found := reference.FindAllStringSubmatch(cells[len(cells)-1], -1)
			if len(found) == 0 {
				t.Error("names no test")
			}
			for _, match := range found {
				mentions(t, match[1], names(match[2]))
			}
		})
	}
}

// names splits a list such as: TestA, "a spec, of Ginkgo", TestB.
func names(list string) []string {
	var all []string
	for i, part := range strings.Split(list, `"`) {
		if i%2 == 1 {
			all = append(all, `"`+part+`"`)
			continue
		}
		for _, name := range separator.Split(part, -1) {
			if name = strings.TrimSpace(name); name != "" {
				all = append(all, name)
			}
		}
	}
	return all
}

// TestSecurityNamesSlowTests checks that the page names its files in test/integration whose specs only
// make test-long runs.
func TestSecurityNamesSlowTests(t *testing.T) {
	page, err := os.ReadFile("security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "labelled `slow` in ")
	list, _, found := strings.Cut(after, ".\n")
	if !found {
		t.Fatal("security.md does not say which specs are slow")
	}
	said := map[string]bool{}
	for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(list, -1) {
		said[match[1]] = true
	}
	named := map[string]bool{}
	for _, match := range regexp.MustCompile("`test/integration/([a-z]+_test.go)`").FindAllStringSubmatch(string(page), -1) {
		named[match[1]] = true
	}
	for file := range named {
		text, err := os.ReadFile(filepath.Join("..", "test", "integration", file))
		if err != nil {
			t.Fatal(err)
		}
		if slow := regexp.MustCompile(`, slow\b`).Match(text); slow != said[file] {
			t.Errorf("%s has slow specs: %t; the page says so: %t", file, slow, said[file])
		}
	}
}

// mentions checks that a file of the repository contains each of the names.
func mentions(t *testing.T, file string, names []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", file))
	if err != nil {
		t.Error(err)
		return
	}
	for _, name := range names {
		if !strings.Contains(string(text), name) {
			t.Errorf("%s does not mention %s", file, name)
		}
	}
}
