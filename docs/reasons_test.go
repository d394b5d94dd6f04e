package docs_test

import (
	"regexp"
	"strings"
	"testing"
)

var reason = regexp.MustCompile(`(?m)^\s*(?:const )?Reason\w+\s+(?:string\s+)?= "(\w+)"$`)

// TestPagesExplainReasons: somebody who sees a reason of the API searches for it in the pages.
func TestPagesExplainReasons(t *testing.T) {
	pages, count := read(t, "*.md"), 0
	for _, match := range reason.FindAllStringSubmatch(read(t, "../api/v1alpha1/*_types.go"), -1) {
		count++
		if !strings.Contains(pages, "`"+match[1]+"`") {
			t.Errorf("no page explains %s", match[1])
		}
	}
	if count < 80 {
		t.Errorf("%d reasons are found: the test looks in the wrong place", count)
	}
}
