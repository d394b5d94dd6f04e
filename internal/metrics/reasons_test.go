package metrics

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/spillway-io/spillway/internal/field"
)

// sources returns a package's files without tests.
func sources(t *testing.T, dir string) []*ast.File {
	t.Helper()
	paths, err := fs.Glob(os.DirFS(dir), "*.go")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has %d files: %v", dir, len(paths), err)
	}
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, path), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// constantsOf returns a package's string constants, by their names.
func constantsOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	values := map[string]string{}
	for _, file := range sources(t, dir) {
		ast.Inspect(file, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range spec.Names {
				if i >= len(spec.Values) {
					continue
				}
				if literal, ok := spec.Values[i].(*ast.BasicLit); ok && literal.Kind == token.STRING {
					if value, err := strconv.Unquote(literal.Value); err == nil {
						values[name.Name] = value
					}
				}
			}
			return true
		})
	}
	return values
}

// notOfPods are reasons in these packages that are not for a False condition of a pod.
var notOfPods = map[string]string{
	"ReasonOffloaded":            "the condition is True",
	"ReasonRemotePodLost":        "the status of a pod that has ended",
	"ReasonPodDeleted":           "the status of a pod that has ended",
	"ReasonTolerationNotAllowed": "said of pods that are sent",
	"ReasonEveryNamespaceHasOne": "said of a ConfigMap, which no pod waits for",
	"ReasonChangeUndone":         "an event",
	"ReasonLimitsRead":           "a condition of the binding",
	"ReasonPolicyNarrowed":       "said of a NetworkPolicy that is sent",
	"ReasonPolicyTooLarge":       "said of a NetworkPolicy; pods say NetworkPolicyPending",
	"ReasonSelectorNotSent":      "said of a NetworkPolicy, of which pods say NetworkPolicyPending, or of a PodDisruptionBudget",
	"ReasonBudgetUnknown":        "said of a PodDisruptionBudget, which no pod waits for",

	"ReasonAddressNotAllowed":       "said of an EndpointSlice, which no pod waits for",
	"ReasonAddressesLeftOut":        "said of an EndpointSlice, which no pod waits for",
	"ReasonExternalName":            "said of a Service, which no pod waits for",
	"ReasonServiceWithoutEndpoints": "said of a Service, which no pod waits for",
	"ReasonSentAsClusterIP":         "said of a Service, which no pod waits for",
	"ReasonAddressRefused":          "said of a Service or an Ingress, which no pod waits for",
	"ReasonAnnotationWithheld":      "said of an Ingress or a route, which no pod waits for",
	"ReasonClassNotAllowed":         "said of an Ingress or a route, which no pod waits for",
	"ReasonHostNotAllowed":          "said of an Ingress or a route, which no pod waits for",
	"ReasonResourceBackend":         "said of an Ingress, which no pod waits for",
	"ReasonRouteTooLarge":           "said of an Ingress or a route, which no pod waits for",

	"ReasonFilterNotSent":    "said of a route, which no pod waits for",
	"ReasonBackendElsewhere": "said of a route, which no pod waits for",
	"ReasonNotAcceptedHere":  "said of a route, which no pod waits for",
	"ReasonFieldsLeftOut":    "said of a route, which no pod waits for",
}

// TestReasonsOfPods compares the list of reasons with the possible reasons of a pod's condition: all reasons
// in the packages that decide about pods.
func TestReasonsOfPods(t *testing.T) {
	values := constantsOf(t, "../../api/v1alpha1")
	for name, value := range constantsOf(t, "../field") {
		values[name] = value
	}
	used := map[string]bool{}
	for _, dir := range []string{"../engine/act", "../engine/plan", "../engine/decide", "../engine/mapping", "../field", "../../controllers/toprovider/pod", "../../controllers/toprovider/pod/accept", "../../controllers/toprovider/persistentvolume", "../../controllers/toprovider/persistentvolumeclaim", "../../controllers/toprovider/configmap", "../../controllers/toprovider/secret", "../../controllers/waitingpod"} {
		for _, file := range sources(t, dir) {
			ast.Inspect(file, func(node ast.Node) bool {
				if name, ok := node.(*ast.Ident); ok && strings.HasPrefix(name.Name, "Reason") && values[name.Name] != "" {
					used[name.Name] = true
				}
				return true
			})
		}
	}
	if len(used) < len(field.PodReasons)/2 {
		t.Errorf("only %d reasons were found", len(used))
	}
	for name := range used {
		if _, other := notOfPods[name]; !other && boundedReason(values[name]) == otherReason {
			t.Errorf("%s is none of field.PodReasons", name)
		}
	}
}
