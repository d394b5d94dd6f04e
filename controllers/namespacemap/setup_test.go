package namespacemap

import (
	"context"
	"testing"

	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// TestFollowsTheFence: when the Lease in a provider is renewed after it had expired, its map is reconciled.
func TestFollowsTheFence(t *testing.T) {
	var reopen func()
	provider := &fleet.Provider{OnReopened: func(_ context.Context, follower func()) { reopen = follower }}
	changed := 0
	if err := followFence(t.Context(), provider, func() { changed++ }); err != nil || reopen == nil {
		t.Fatalf("nobody follows the Lease, error %v", err)
	}
	if reopen(); changed != 1 {
		t.Errorf("reconciled %d times, want once", changed)
	}
}
