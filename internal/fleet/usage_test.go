package fleet

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/internal/connection"
)

func TestUsage(t *testing.T) {
	l := newLedger(Budget{Memory: 10 << 20, Objects: 100}, func(error) {})
	l.note(configMap("settings", 1000))
	f := &Fleet{
		connections: map[string]*keeper{"eu": {target: Target{ClusterID: "europe"}}, "us": {target: Target{ClusterID: "america"}}},
		engaged:     map[multicluster.ClusterName]cluster.Cluster{"eu": &connectedCluster{ledger: l}},
	}
	got := f.Usage()
	if len(got) != 1 || got[0].Memory < 1000 {
		t.Fatalf("got %+v, want one", got)
	}
	if want := (connection.Usage{ClusterID: "europe", Memory: got[0].Memory, MaxMemory: 10 << 20, Objects: 1, MaxObjects: 100}); got[0] != want {
		t.Errorf("got %+v, want %+v", got[0], want)
	}
	l.drop(configMap("settings", 0))
	if got := f.Usage()[0]; got.Memory != 0 || got.Objects != 0 {
		t.Errorf("got %+v when it is gone", got)
	}
}
