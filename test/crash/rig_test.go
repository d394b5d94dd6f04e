package crash

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/rig"
)

const (
	consumerID = "crash"
	// patience is the longest wait for one step, on a machine that may be busy with other work.
	patience = 3 * time.Minute
)

var providers = []string{"p1", "p2"}

// rigUp starts the clusters of a test, which end with it.
func rigUp(t *testing.T, o rig.Options) *rig.Rig {
	r, err := rig.Up(t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, r.Down(context.Background())) })
	return r
}

// writeKubeconfig writes the kubeconfig of the manager.
func writeKubeconfig(t *testing.T, r *rig.Rig) string {
	kubeconfig, err := r.ManagerKubeconfig(t.Context())
	must(t, err)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	must(t, os.WriteFile(file, kubeconfig, 0o600))
	return file
}

// isOffloaded returns an error until the first namespace is offloaded.
func isOffloaded(ctx context.Context, r *rig.Rig) error {
	var offloading v1alpha1.NamespaceOffloading
	if err := r.Consumer.Admin.Get(ctx, client.ObjectKeyFromObject(rig.Offloading(0)), &offloading); err != nil {
		return err
	}
	if phase := offloading.Status.OffloadingPhase; phase != v1alpha1.OffloadingPhaseReady {
		return fmt.Errorf("the offloading is %q", phase)
	}
	return nil
}

// until waits for something.
func until(t *testing.T, what string, try func(context.Context) error) {
	t.Helper()
	if err := rig.Eventually(t.Context(), patience, try); err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
