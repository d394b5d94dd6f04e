package crash

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spillway-io/spillway/test/clusters"
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

// run is the body of TestMain. It is a function of its own, so that its deferred calls run.
func run(m *testing.M) int {
	flag.Parse()
	if testing.Short() { // No test that is left starts a manager.
		return m.Run()
	}
	clusters.RequireBinaries()
	ctrl.SetLogger(logr.Discard())
	dir, err := os.MkdirTemp("", "spillway-crash-")
	if err == nil {
		defer os.RemoveAll(dir)
		err = build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
