package seeded

import (
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNothingShippedHasABug: no shipped program imports the bugs or any other test package.
func TestNothingShippedHasABug(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../../../cmd/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for dependency := range strings.Lines(string(out)) {
		if strings.Contains(dependency, "spillway/test/") {
			t.Errorf("what we ship depends on %s", dependency)
		}
	}
}

// TestOverlay: the product has the lines of each bug, and still parses with the bugs in it. make faults
// builds it.
func TestOverlay(t *testing.T) {
	dir := t.TempDir()
	if _, err := Overlay("../../..", dir); err != nil {
		t.Fatal(err)
	}
	for bug, site := range sites {
		if _, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, site.file), nil, parser.SkipObjectResolution); err != nil {
			t.Errorf("%s: %v", bug, err)
		}
	}
}
