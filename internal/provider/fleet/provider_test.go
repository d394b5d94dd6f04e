package fleet

import (
	"errors"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/internal/provider/transport"
)

// TestFenced: a connection whose Lease has run out is known by that, before it ends.
func TestFenced(t *testing.T) {
	for name, test := range map[string]struct {
		left    time.Duration
		bounded bool
		want    error
	}{
		"held":                        {time.Second, true, nil},
		"run out":                     {0, true, transport.ErrFenced},
		"run out long ago":            {-time.Minute, true, transport.ErrFenced},
		"the provider lets have none": {-time.Minute, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			connected := &Provider{remaining: func() (time.Duration, bool) { return test.left, test.bounded }}
			if err := connected.Fenced(); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// TestOf: a cluster that is no connection to a provider is an error, not one without bounds.
func TestOf(t *testing.T) {
	connected := &Provider{}
	if got, err := Of(connected); got != connected || err != nil {
		t.Errorf("got %v, error %v", got, err)
	}
	var consumer struct{ cluster.Cluster }
	for name, engaged := range map[string]cluster.Cluster{"none": nil, "the consumer": consumer} {
		if _, err := Of(engaged); err == nil {
			t.Errorf("%s is taken for a provider", name)
		}
	}
}

// TestClusters: what is not connected is no cluster, and not a nil one.
func TestClusters(t *testing.T) {
	f := New(Options{})
	f.providers["eu"] = &Provider{}
	if got, err := (Clusters{f}).Get(t.Context(), "eu"); got != f.providers["eu"] || err != nil {
		t.Errorf("got %v, error %v", got, err)
	}
	if got, err := (Clusters{f}).Get(t.Context(), "us"); got != nil || !errors.Is(err, multicluster.ErrClusterNotFound) {
		t.Errorf("got %v, error %v", got, err)
	}
}
