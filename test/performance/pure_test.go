//go:build bench

package performance

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/performance/docs"
)

// TestPure runs the Go benchmarks of the packages that decide without I/O.
func TestPure(t *testing.T) {
	module := strings.TrimSpace(string(goOutput(t, "list", "-m")))
	args := []string{"test", "-run", "^$", "-bench", ".", "-benchmem", "-count", "5", "-benchtime", "200ms", "-p", "1", "./internal/..."}
	output := goOutput(t, args...)
	results, err := parseBenchmarks(module, output)
	must(t, err)
	if len(results) == 0 {
		t.Fatalf("there are no benchmarks in\n%s", output)
	}
	report := PureReport{
		Date: today(), Command: commandLine(append([]string{"go"}, args...)), Machine: docs.ThisMachine(""), Results: results,
	}
	publishPart(t, "pure", report, report.Markdown())
}

// goOutput runs go in the repository.
func goOutput(t *testing.T, args ...string) []byte {
	root, err := clusters.Root()
	must(t, err)
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = root
	output, err := command.Output()
	if err != nil {
		t.Fatal(fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, output))
	}
	return output
}
