package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/spillway-io/spillway/internal/fleet/transport"
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
			connected := &connectedCluster{left: func() (time.Duration, bool) { return test.left, test.bounded }}
			if err := Fenced(connected); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	if err := Fenced(nil); err != nil {
		t.Errorf("of a cluster that is not the fleet's: %v", err)
	}
}
