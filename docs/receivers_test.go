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

// mostMethods is how many methods a type may have (CONTRIBUTING.md). A type with more methods has more
// than one job.
const mostMethods = 15

// elsewhere matches packages that only tests and the demo use.
var elsewhere = regexp.MustCompile(`^(internal/testing|hosted/(demo|test))(/|$)`)

// TestReceivers counts the methods of each type.
func TestReceivers(t *testing.T) {
	methods := map[string]int{}
	for _, root := range []string{"internal", "controllers", "hosted"} {
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
		if number > mostMethods {
			t.Errorf("%s has %d methods, and may have %d: give some of them, with their state, to a type of their own", name, number, mostMethods)
		}
	}
	if len(methods) < 100 {
		t.Errorf("%d types are found: the test looks in the wrong place", len(methods))
	}
}

// receiver returns the name of a receiver's type, without a pointer and type parameters.
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
