package fleet

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
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
			connected := &Provider{Remaining: func() (time.Duration, bool) { return test.left, test.bounded }}
			if err := connected.Fenced(); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
}

// TestReopened: followers learn when writes are allowed again, and not of each renewal.
func TestReopened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fence{clock: clock.RealClock{}, duration: 15 * time.Second}
		ctx, end := context.WithCancel(t.Context())
		opened := 0
		f.follow(ctx, func() {
			if opened++; f.expired() {
				t.Error("nothing may be written yet")
			}
		})
		renew := func() { f.extend(time.Now()) }
		for i, step := range []struct {
			do   func()
			want int
		}{
			{renew, 1}, {renew, 1}, {func() { time.Sleep(6 * time.Second) }, 1}, {renew, 1},
			{func() { time.Sleep(time.Minute) }, 1}, {func() { f.extend(time.Now().Add(-time.Minute)) }, 1}, {renew, 2},
			{func() { f.drop() }, 2}, {f.lift, 3}, {f.lift, 3}, {renew, 3}, {func() { time.Sleep(time.Minute) }, 3}, {f.lift, 4},
			{func() { f.drop() }, 4}, {func() { end(); synctest.Wait() }, 4}, {renew, 4},
		} {
			if step.do(); opened != step.want {
				t.Errorf("step %d: told %d times, want %d", i, opened, step.want)
			}
		}
	})
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
