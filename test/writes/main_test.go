package writes

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spillway-io/spillway/test/clusters"
)

func TestMain(m *testing.M) {
	clusters.RequireBinaries()
	ctrl.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// TestWrites takes one set of clusters through all parts.
func TestWrites(t *testing.T) {
	if testing.Short() {
		pods = 50
	}
	s := up(t)
	t.Run("the lives of objects", s.lives)
	t.Run("a restart over running pods", s.restart)
}
