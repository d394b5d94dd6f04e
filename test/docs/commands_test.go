package docs

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/manifests"
)

// pages are in the order in which the test runs them. inlines says whether the commands within the text are
// complete.
var pages = []struct {
	file    string
	inlines bool
}{
	{"README.md", false},
	{"docs/getting-started.md", true},
	{"docs/operations.md", true},
	{"docs/troubleshooting.md", false},
	{"docs/applications.md", true},
	{"docs/spill.md", true},
}

// notRun are the beginnings of commands that cannot be run here, each with the reason.
var notRun = map[string]string{
	"docker ":                 "there is no Docker",
	"make ":                   "it is seen that there is such a target",
	"bin/manager ":            "the integration tests run it",
	"curl ":                   "there is nobody to answer",
	"kubectl port-forward ":   "nothing runs",
	"kubectl drain ":          "there is no node",
	"kubectl auth can-i ":     "the right answer, no, is an error",
	"kubectl rollout status ": "no Deployment is rolled out",
	"kubectl spillway ":       "test/plugin runs them",
	"kubectl --kubeconfig bin/demo/consumer.kubeconfig logs ": "no manager runs",
	"kubectl --kubeconfig bin/demo/consumer.kubeconfig exec ": "no manager runs",
}

// placeholders are replaced by the values that readers fill in.
var placeholders = strings.NewReplacer("CLUSTERID", "eu", "NAME", "web")

// before prepares what the pages assume: somebody has run the demo, and the objects exist that the
// placeholders name.
const before = `set -euo pipefail
export PATH="$PWD/bin/kube:$PATH" KUBECONFIG="$PWD/admin.kubeconfig" KUBE_EDITOR=true # It changes nothing.
kubectl() {
  case " $* " in
  *" delete "*) command kubectl "$@" --dry-run=server ;;
  *" wait "*) # A manager would say so.
    command kubectl patch clusterbinding eu --subresource=status --type=merge -p \
      '{"status":{"conditions":[{"type":"Ready","status":"True","reason":"Ready","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}'
    command kubectl "$@" ;;
  *" rollout restart "*) # kubectl refuses the second one within one second.
    sleep 1
    command kubectl "$@" ;;
  *) command kubectl "$@" ;;
  esac
}
kwokctl() { # It starts no cluster, and so there is none for the other commands.
  case "$1" in
  create) command kwokctl "$@" --dry-run ;;
  *) command kwokctl "$@" --help ;;
  esac
}
`

const demo = `
kubectl apply -f dist/install.yaml
kubectl apply --server-side -f gatewayapi.yaml
kubectl wait --for=condition=Established crd --all --timeout=60s
for file in team-a team-b bindings web apps db; do kubectl apply -f hack/demo/manifests/$file.yaml; done
kubectl run web -n team-a --image=none
kubectl create secret generic web
kubectl apply -f - <<'END'
apiVersion: offloading.spillway.io/v1alpha1
kind: NamespaceMap
metadata: {name: eu}
END
`

// TestCommands runs the commands of all pages.
func TestCommands(t *testing.T) {
	root, err := clusters.Root()
	if err != nil {
		t.Fatal(err)
	}
	dir := workplace(t, root)
	// The demo needs no wait for a binding.
	run(t, dir, "the demo", strings.ReplaceAll(before, `*" wait "*)`, `*" never "*)`)+demo)
	used := map[string]bool{}
	for _, page := range pages {
		raw, err := os.ReadFile(filepath.Join(root, page.file))
		if err != nil {
			t.Fatal(err)
		}
		commands := commandsOf(page.file, string(raw), page.inlines)
		if len(commands) == 0 {
			t.Errorf("%s has no commands", page.file)
		}
		script := before
		for _, c := range commands {
			if beginning := whyNot(c); beginning != "" {
				used[beginning] = true
				checkTarget(t, root, c)
				continue
			}
			script += fmt.Sprintf("echo %q\n%s\n", "at "+c.page+":"+fmt.Sprint(c.line), placeholders.Replace(c.text))
		}
		t.Run(page.file, func(t *testing.T) { run(t, dir, page.file, script) })
	}
	for beginning := range notRun {
		if !used[beginning] {
			t.Errorf("no command begins with %q any more", beginning)
		}
	}
}

// whyNot returns the beginning in notRun that matches a command, or "" if the command is run.
func whyNot(c command) string {
	for beginning := range notRun {
		if strings.HasPrefix(c.text, beginning) {
			return beginning
		}
	}
	return ""
}

// checkTarget checks that the Makefile has the target of a make command.
func checkTarget(t *testing.T, root string, c command) {
	t.Helper()
	words := strings.Fields(c.text)
	if words[0] != "make" {
		return
	}
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(words[1]) + `:`).Match(makefile) {
		t.Errorf("%s: there is no such target", c)
	}
}

// run runs a script. The error message contains what, the place of the script.
func run(t *testing.T, dir, what, script string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-s")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(script)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v; the last of it:\n%s", what, err, last(output.String(), 15))
	}
}

func last(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// workplace returns a directory that looks like the repository after a reader has followed the first steps of
// the pages. All kubeconfigs in it lead to one API server.
func workplace(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		assets = filepath.Join(root, "bin", "kube")
	}
	env := &envtest.Environment{BinaryAssetsDirectory: assets}
	if _, err := env.Start(); err != nil {
		t.Fatalf("starting an API server (make kube builds it): %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stopping the API server: %v", err)
		}
	})
	for _, sub := range []string{"bin/demo", "dist"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"bin/kube": assets, "hack": filepath.Join(root, "hack"), "config": filepath.Join(root, "config")} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"admin", "home", "bin/demo/consumer", "bin/demo/eu", "bin/demo/us"} {
		write(t, filepath.Join(dir, name+".kubeconfig"), env.KubeConfig)
	}
	for file, config := range map[string]string{"dist/install.yaml": "config/default", "dist/provider.yaml": "config/provider"} {
		objects, err := manifests.Kustomized(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, file), yamlOf(t, objects))
	}
	routes, err := manifests.GatewayAPI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "gatewayapi.yaml"), yamlOf(t, routes))
	return dir
}

func yamlOf(t *testing.T, objects []*unstructured.Unstructured) []byte {
	t.Helper()
	var all []byte
	for _, object := range objects {
		raw, err := yaml.Marshal(object.Object)
		if err != nil {
			t.Fatal(err)
		}
		all = append(append(all, "---\n"...), raw...)
	}
	return all
}

func write(t *testing.T, file string, content []byte) {
	t.Helper()
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
}
