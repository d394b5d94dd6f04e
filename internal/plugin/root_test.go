package plugin

import (
	"io"
	"os"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestExamples: what the help and the documentation show are commands, with flags that there
// are. test/plugin runs them.
func TestExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/kubectl-spillway.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{strings.ReplaceAll(string(page), "$ kubectl", "kubectl")}
	for _, command := range Command("test", genericiooptions.NewTestIOStreamsDiscard()).Commands() {
		if command.Example == "" && command.Name() != "help" && command.Name() != "completion" {
			t.Errorf("%s has no example", command.Name())
		}
		texts = append(texts, command.Example)
	}
	seen := 0
	for _, text := range texts {
		for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " | ")
			if args, ok := strings.CutPrefix(line, "kubectl spillway "); ok {
				seen++
				parses(t, strings.Fields(args))
			}
		}
	}
	if seen < 20 {
		t.Errorf("there are %d examples only", seen)
	}
}

func parses(t *testing.T, args []string) {
	t.Helper()
	root := Command("test", genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard})
	command, rest, err := root.Find(args)
	if err == nil {
		err = command.ParseFlags(rest)
	}
	if err == nil {
		err = command.ValidateArgs(command.Flags().Args())
	}
	if err != nil || command == root {
		t.Errorf("kubectl spillway %s: %v", strings.Join(args, " "), err)
	}
}
