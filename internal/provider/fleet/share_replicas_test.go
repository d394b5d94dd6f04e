package fleet

import (
	"strings"
	"testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func sharingWith(identities ...string) func(*Options) {
	return func(o *Options) {
		o.Shares = func(identity string) bool {
			for _, known := range identities {
				if known == identity {
					return true
				}
			}
			return false
		}
	}
}

func named(identity string) func(*Options) {
	return func(o *Options) { o.Identity = identity }
}

// TestAReplicaWaitsForTheLeaseOfOneThatShares, and reports nothing meanwhile: the other
// one gives it back in a moment.
func TestAReplicaWaitsForTheLeaseOfOneThatShares(t *testing.T) {
	const origin = "sharing"
	admin(t)
	first, _, _ := startManager(t, origin, named("first"))
	first.Connect(target("eu", "1", providerUID))
	eventually(t, first, "eu", "is connected", connected)
	second, wrote, _ := startManager(t, origin, named("second"), sharingWith("first"))
	second.Connect(remembering(first))
	for looks := 1; looks <= 8; looks++ { // The first one renews it meanwhile.
		wrote.looked(t, looks)
		if state := second.State("eu"); state.Phase != Connecting || len(wrote.written()) > 0 {
			t.Fatalf("after %d looks it is %+v, and has written %v", looks, state, wrote.written())
		}
	}
	first.Disconnect("eu")
	eventually(t, second, "eu", "takes over", connected)

	third, _, _ := startManager(t, origin, named("third"), sharingWith("first"))
	third.Connect(remembering(second))
	eventually(t, third, "eu", "is refused by one that does not share", refusedFor(v1alpha1.ReasonHeldByAnother))
}

// TestReplicasThatShareNeedALease: nothing else keeps two of them from writing.
func TestReplicasThatShareNeedALease(t *testing.T) {
	const origin = "sharing-without" // It has no namespace for Leases.
	f, wrote, _ := startManager(t, origin, sharingWith())
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is refused", refusedFor(v1alpha1.ReasonLeaseUnavailable))
	for _, write := range wrote.written() {
		if !strings.HasSuffix(write, "/leases") {
			t.Errorf("it has written %s", write)
		}
	}
}
