//go:build bench

package performance

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/pages"
)

var providers = []string{"p1", "p2", "p3"}

// patience bounds one phase, on a machine that may be busy with other things.
const patience = 15 * time.Minute

// out is where the benchmark prints its progress and its figures.
var out io.Writer = os.Stdout

func TestMain(m *testing.M) {
	if arguments := os.Getenv(asFloor); arguments != "" {
		if err := runFloor(arguments); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	clusters.RequireBinaries()
	_, _ = fmt.Fprintln(out, "on", pages.Machine())
	os.Exit(m.Run())
}

// show prints a table, and fails the test if a bound is broken.
func show(t *testing.T, title string, columns ...column) {
	t.Helper()
	text, broken := table(title, columns...)
	_, _ = fmt.Fprintln(out, "\n"+text)
	for _, err := range broken {
		t.Error(err)
	}
}

// say prints the progress of a part that began then.
func say(part string, began time.Time, format string, args ...any) {
	_, _ = fmt.Fprintf(out, "%-8s %6.1fs  %s\n", part, time.Since(began).Seconds(), fmt.Sprintf(format, args...))
}

// logTo sends the manager's log to a file, so that it does not mix with the figures.
func logTo(t *testing.T, name string) {
	file, err := os.Create(filepath.Join(outputDir(t), name))
	must(t, err)
	t.Cleanup(func() {
		ctrl.SetLogger(logr.Discard())
		_ = file.Close()
	})
	ctrl.SetLogger(zap.New(zap.WriteTo(file)))
}

// outputDir is the directory for logs and profiles.
func outputDir(t *testing.T) string {
	root, err := clusters.Root()
	must(t, err)
	dir := filepath.Join(root, "bin", "bench")
	must(t, os.MkdirAll(dir, 0o750))
	return dir
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
