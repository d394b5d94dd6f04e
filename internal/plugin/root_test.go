package plugin

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/spillway-io/spillway/config"
)

// TestExamples: the help and the documentation show existing commands with existing flags. test/plugin runs
// them.
func TestExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/kubectl-spillway.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{strings.ReplaceAll(string(page), "$ kubectl", "kubectl")}
	commands := Command("test", genericiooptions.NewTestIOStreamsDiscard()).Commands()
	for _, command := range commands {
		commands = append(commands, command.Commands()...)
	}
	for _, command := range commands {
		if parent := command.Parent().Name(); parent == "completion" {
			continue
		}
		if command.Example == "" && command.Name() != "help" && command.Name() != "completion" {
			t.Errorf("%s has no example", command.Name())
		}
		texts = append(texts, command.Example)
	}
	seen := 0
	for _, text := range texts {
		for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " | ")
			line, _, _ = strings.Cut(line, " > ")
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

// TestCounts: the numbers in the page match what is shipped. In the demo the manager is not a Deployment.
func TestCounts(t *testing.T) {
	page, err := os.ReadFile("../../docs/kubectl-spillway.md")
	if err != nil {
		t.Fatal(err)
	}
	for directory, text := range map[string]string{"provider": "provider: %d objects ", "default": "installed: all %d objects exist"} {
		shipped, err := config.Objects(directory)
		if err != nil {
			t.Fatal(err)
		}
		count := len(slices.DeleteFunc(shipped, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Deployment" }))
		if want := fmt.Sprintf(text, count); !strings.Contains(string(page), want) {
			t.Errorf("docs/kubectl-spillway.md does not say %q", want)
		}
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

// TestArguments: a command says what it needs, and how to use it.
func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		"explain":            "explain needs a POD\nusage: kubectl spillway explain POD [flags]",
		"unbind a b":         "unbind takes one NAME, and got a b\nusage: kubectl spillway unbind NAME [flags]",
		"hosted plan":        "plan needs a NAME\nusage: kubectl spillway hosted plan NAME [flags]",
		"hosted adopt --all": "adopt needs one NAME\nusage: kubectl spillway hosted adopt NAME [flags]",
		"hosted resolve eu":  "resolve needs a NAME and a PATH\nusage: kubectl spillway hosted resolve NAME PATH --take spec|cloud [flags]",
		"hosted resolve a b": "--take must be spec or cloud: whose value holds",
		"hosted adopt a":     "say what to adopt: --fields, --drifted or --all",
		"hosted plan a -o x": "-o x: must be json or yaml",
		"status team":        "status takes no argument, and got team\nusage: kubectl spillway status [flags]",
	} {
		root := Command("test", genericiooptions.NewTestIOStreamsDiscard())
		root.SetArgs(strings.Fields(args))
		if err := root.Execute(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", args, err, want)
		}
	}
}

// TestNothingControlsTheTerminal: all text goes through one writer.
func TestNothingControlsTheTerminal(t *testing.T) {
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	root := Command("test", streams)
	const hostile = "a\x1b[31m\u202eb\u009b1m\r\tc\n"
	for _, to := range []io.Writer{root.OutOrStdout(), root.ErrOrStderr()} {
		if n, err := io.WriteString(to, hostile); n != len(hostile) || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
	if got, want := out.String(), "a [31m b 1m \tc\n"; got != want {
		t.Errorf("printed is %q, want %q", got, want)
	}
	past := regexp.MustCompile(`os\.Std(out|err)|fmt\.Print|\bprintln?\(`)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		content, err := os.ReadFile(path)
		if found := past.Find(content); found != nil {
			t.Errorf("%s has %s: write to the streams of the Factory", path, found)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
