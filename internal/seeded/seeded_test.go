package seeded_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spillway-io/spillway/internal/seeded"
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
	for _, d := range seeded.All() {
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

// What is written in a description and nowhere in the product would be a bug that
// nobody can catch; two sites would be two bugs.
func TestEachBugHasOneSite(t *testing.T) {
	sites := map[string]int{}
	for _, root := range []string{"../../controllers", "../../internal"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "seeded") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if use, ok := n.(*ast.SelectorExpr); ok {
					if pkg, ok := use.X.(*ast.Ident); ok && pkg.Name == "seeded" {
						sites[use.Sel.Name]++
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name := range constants(t) {
		if sites[name] != 1 {
			t.Errorf("%s has %d sites", name, sites[name])
		}
	}
}
