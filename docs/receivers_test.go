package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mostMethods is how many methods a type may have (CONTRIBUTING.md): one that has more has more
// than one job.
const mostMethods = 15

// large are the types that have more, and how many. Take methods away from them, never add any.
var large = map[string]int{
	"controllers/clusterbinding.Reconciler": 28,
	"controllers/namespacemap.Reconciler":   19,
	"internal/decide/mapping.Mapping":       17,
	"internal/inventory.Inventory":          21,
	"internal/syncer.kindController":        18,
}

// elsewhere are packages that are not in the manager, or only in tests.
var elsewhere = regexp.MustCompile(`^internal/(hosted|plugin|testing)(/|$)`)

// TestReceivers counts the methods of each type of the manager.
func TestReceivers(t *testing.T) {
	methods := map[string]int{}
	for _, root := range []string{"internal", "controllers"} {
		err := filepath.WalkDir(filepath.Join("..", root), func(path string, entry fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case entry.IsDir() && elsewhere.MatchString(filepath.ToSlash(path)[len("../"):]):
				return filepath.SkipDir
			case entry.IsDir(), !strings.HasSuffix(path, ".go"), strings.HasSuffix(path, "_test.go"):
				return nil
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			for _, declared := range file.Decls {
				if f, ok := declared.(*ast.FuncDecl); ok && f.Recv != nil {
					methods[filepath.ToSlash(filepath.Dir(path))[len("../"):]+"."+receiver(f.Recv.List[0].Type)]++
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, number := range methods {
		if most := max(mostMethods, large[name]); number > most {
			t.Errorf("%s has %d methods, and may have %d: give some of them, with their state, to a type of their own", name, number, most)
		}
	}
	for name, number := range large {
		if methods[name] < number {
			t.Errorf("%s has %d methods now: say so in the list, or take it off if that is at most %d", name, methods[name], mostMethods)
		}
	}
	if len(methods) < 100 {
		t.Errorf("%d types are found: the test looks in the wrong place", len(methods))
	}
}

// receiver is the name of the type of a receiver, without a pointer and parameters.
func receiver(of ast.Expr) string {
	switch is := of.(type) {
	case *ast.StarExpr:
		return receiver(is.X)
	case *ast.IndexExpr:
		return receiver(is.X)
	case *ast.IndexListExpr:
		return receiver(is.X)
	case *ast.Ident:
		return is.Name
	default:
		return ""
	}
}
