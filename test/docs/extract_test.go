package docs

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCommandsOf(t *testing.T) {
	const page = "Text with `kubectl get pods`, `kubectl debug`, and `code`.\n" +
		"\n" +
		"    kubectl apply -f - <<'END'\n" +
		"    kind: Pod\n" +
		"    END\n" +
		"    kubectl create x \\\n" +
		"      --flag\n" +
		"\n" +
		"    make demo   # a comment\n" +
		"\n" +
		"It prints:\n" +
		"\n" +
		"    status:\n" +
		"      ready: true\n" +
		"\n" +
		"And:\n" +
		"\n" +
		"    $ kubectl get nodes\n" +
		"    NAME\n" +
		"    make\n" +
		"1. In a list:\n" +
		"\n" +
		"       kubectl create y\n"
	want := []command{
		{"p", 3, "kubectl apply -f - <<'END'\nkind: Pod\nEND"},
		{"p", 6, "kubectl create x \\\n  --flag"},
		{"p", 9, "make demo   # a comment"},
		{"p", 18, "kubectl get nodes"},
		{"p", 23, "kubectl create y"},
	}
	if diff := cmp.Diff(want, commandsOf("p", page, false), cmp.AllowUnexported(command{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	want = append([]command{{"p", 1, "kubectl get pods"}}, want...)
	if diff := cmp.Diff(want, commandsOf("p", page, true), cmp.AllowUnexported(command{})); diff != "" {
		t.Errorf("with those in the text (-want +got)\n%s", diff)
	}
}
