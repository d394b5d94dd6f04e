package kinds

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spillway-io/spillway/controllers"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/faults/oracle"
	"github.com/spillway-io/spillway/test/faults/world"
)

const (
	// lanes is the number of kinds that are tested at the same time.
	lanes = 3
	// patience is the longest wait, on a machine that may be busy with other work.
	patience = 2 * time.Minute
)

func TestMain(m *testing.M) {
	clusters.RequireBinaries()
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	os.Exit(m.Run())
}

// stranger returns the labels of an object that somebody else has created in the provider. The end of the run
// finds the object by one of them, and deletes it.
func (s *stage) stranger() map[string]string {
	return map[string]string{"example.com/owner": "somebody", oracle.LabelLane: s.ConsumerID}
}

// alike are kinds that use the same code as another kind: a Secret the same as a ConfigMap, a
// PersistentVolume the same as its claim, and routes the same as an Ingress. The test leaves them out with
// -short.
var alike = map[string]bool{"secret": true, "persistentvolume": true, "httproute": true, "grpcroute": true}

// TestKinds runs all parts for each kind.
func TestKinds(t *testing.T) {
	site, err := world.Up(t.Context(), lanes, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := site.Down(context.Background()); err != nil {
			t.Error(err)
		}
	})
	free := make(chan *world.Lane, lanes)
	for _, lane := range site.Lanes {
		free <- lane
	}
	var group sync.WaitGroup
	for _, kind := range controllers.Kinds() {
		group.Go(func() {
			t.Run(kind.Name, func(t *testing.T) {
				if testing.Short() && alike[kind.Name] {
					t.Skip("another kind takes the same paths; make test-long PART=kinds plays this one")
				}
				lane := <-free
				defer func() { free <- lane }()
				verdicts, err := play(t.Context(), lane, kind, patience, parts())
				if err != nil {
					t.Error(err)
				}
				for _, v := range verdicts {
					t.Run(v.part, func(t *testing.T) {
						t.Logf("took %s", v.took.Round(time.Millisecond))
						if v.err != nil {
							t.Error(v.err)
						}
					})
				}
			})
		})
	}
	group.Wait()
}
