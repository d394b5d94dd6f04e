package text

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// cleaning are the functions that return text without unprintable characters.
var cleaning = []string{"Clean", "Bound", "Short", "Note", "Bounded", "BoundedLines", "bounded"}

// TestTextIsCleanedWhereItIsStored looks for places that put text into an object of the API, or into an
// event. A provider may have written a part of that text, and people read it on terminals.
func TestTextIsCleanedWhereItIsStored(t *testing.T) {
	seen := 0
	for _, root := range []string{"../../../internal", "../../../controllers", "../../../hosted"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			skipped := strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "/sample.go") || strings.Contains(path, "/internal/testing/")
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || skipped {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				if text := shown(node, importsOf(file)); text != nil {
					seen++
					if !isClean(text) {
						t.Errorf("%s: what is shown here is not cleaned; pass it through conditions.New, conditions.Note or text.Clean", files.Position(text.Pos()))
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
	if seen < 20 {
		t.Errorf("it has found %d places only", seen)
	}
}

// shown returns the text that a node puts into an object of the API, or into an event, or nil.
func shown(node ast.Node, imports map[string]string) ast.Expr {
	switch n := node.(type) {
	case *ast.CompositeLit:
		if !isOfAPI(n.Type, imports) {
			return nil
		}
		for _, element := range n.Elts {
			field, ok := element.(*ast.KeyValueExpr)
			if !ok {
				continue
			}
			if name, ok := field.Key.(*ast.Ident); ok && (name.Name == "Message" || name.Name == "Note") {
				return field.Value
			}
		}
	case *ast.CallExpr:
		if called(n) == "Eventf" {
			return n.Args[len(n.Args)-1]
		}
	}
	return nil
}

// isOfAPI reports whether a type belongs to the API of Kubernetes or Spillway.
func isOfAPI(expr ast.Expr, imports map[string]string) bool {
	of, ok := expr.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	name, ok := of.X.(*ast.Ident)
	return ok && slices.ContainsFunc([]string{"k8s.io/api/", "k8s.io/apimachinery/pkg/apis/", "sigs.k8s.io/gateway-api/", "github.com/spillway-io/spillway/api/"},
		func(prefix string) bool { return strings.HasPrefix(imports[name.Name], prefix) })
}

func importsOf(file *ast.File) map[string]string {
	imports := map[string]string{}
	for _, spec := range file.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		name := path[strings.LastIndex(path, "/")+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = path
	}
	return imports
}

func isClean(text ast.Expr) bool {
	switch e := text.(type) {
	case *ast.BasicLit:
		return true
	case *ast.CallExpr:
		return slices.Contains(cleaning, called(e))
	default:
		return false
	}
}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	default:
		return ""
	}
}
