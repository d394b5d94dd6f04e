package seeded

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// constants are the names of the bugs in the code.
func constants(t *testing.T) map[string]string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "bugs.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && len(spec.Values) == 1 {
			names[spec.Names[0].Name] = strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)
		}
		return true
	})
	return names
}

func TestEachBugIsDescribedOnce(t *testing.T) {
	names := constants(t)
	described := map[string]int{}
	for _, d := range All() {
		described[string(d.Bug)]++
		if d.Breaks == "" || len(d.Parts) == 0 {
			t.Errorf("%s: it is not said what it breaks, or which parts are to catch it", d.Bug)
		}
	}
	for name, bug := range names {
		if described[bug] != 1 {
			t.Errorf("%s is described %d times", name, described[bug])
		}
	}
	if len(described) != len(names) || len(names) < 12 {
		t.Errorf("%d bugs are described, %d are named", len(described), len(names))
	}
}

// TestEachBugHasASite: a described bug without a site in the product could never be caught.
func TestEachBugHasASite(t *testing.T) {
	for _, d := range All() {
		if !strings.Contains(sites[d.Bug].bug, "(seeded.") {
			t.Errorf("%s has no site", d.Bug)
		}
	}
	if len(sites) != len(All()) {
		t.Errorf("there are %d sites, and %d bugs", len(sites), len(All()))
	}
}
