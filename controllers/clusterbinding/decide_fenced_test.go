package clusterbinding

import (
	"testing"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

func TestFenced(t *testing.T) {
	fence := func(reason, message string) snapshot {
		return up(func(s *snapshot) { s.Connection.Fence = connection.Fence{Reason: reason, Message: message} })
	}
	after := func(before snapshot, link connection.State) snapshot {
		return up(func(s *snapshot) { s.Binding.Status, s.Connection = Decide(before), link })
	}
	held := fence(v1alpha1.ReasonLeaseHeld, "")
	refusedFor := func(reason string) snapshot { return after(held, lost(reason, "why")) }
	refused := func(reason string) []string {
		return []string{accepted, "Connected=False " + reason + ": why", "Fenced=False " + reason + ": see the condition Connected", "Ready=False " + reason + ": why"}
	}
	tests := map[string]struct {
		snapshot snapshot
		want     []string // CredentialsValid, Connected, Fenced, Ready.
	}{
		"nothing is known yet": {up(func(*snapshot) {}), []string{accepted, linked, "Ready=True Ready: "}},
		"held":                 {held, []string{accepted, linked, "Fenced=True LeaseHeld: ", "Ready=True Ready: "}},
		"without the right": {fence(v1alpha1.ReasonLeaseForbidden, "cannot get leases"), []string{accepted, linked,
			"Fenced=False LeaseForbidden: cannot get leases; a second manager for this cluster would go unnoticed: apply this version's provider.yaml", "Ready=True Ready: "}},
		"by another":                    {refusedFor(v1alpha1.ReasonHeldByAnother), refused(v1alpha1.ReasonHeldByAnother)},
		"not renewed":                   {refusedFor(v1alpha1.ReasonLeaseNotRenewed), refused(v1alpha1.ReasonLeaseNotRenewed)},
		"behind":                        {refusedFor(v1alpha1.ReasonTakeOverNeeded), refused(v1alpha1.ReasonTakeOverNeeded)},
		"somebody else's":               {refusedFor(v1alpha1.ReasonLeaseConflict), refused(v1alpha1.ReasonLeaseConflict)},
		"unreachable: the last verdict": {refusedFor(v1alpha1.ReasonUnreachable), []string{accepted, "Connected=False Unreachable: why", "Fenced=True LeaseHeld: ", "Ready=False Unreachable: why"}},
		"being looked at by the next manager: the last verdict": {after(refusedFor(v1alpha1.ReasonHeldByAnother), connection.State{Phase: connection.Connecting}),
			refused(v1alpha1.ReasonHeldByAnother)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			expectConditions(t, Decide(test.snapshot), test.want, "CredentialsValid", "Connected", "Fenced", "Ready")
		})
	}
}

func TestWhatIsRememberedOfALease(t *testing.T) {
	of := func(generation int64, identity string) v1alpha1.HolderStatus {
		return v1alpha1.HolderStatus{Generation: generation, Identity: identity}
	}
	for name, test := range map[string]struct{ before, wanted, want v1alpha1.HolderStatus }{
		"the first":                {of(0, ""), of(1, "us"), of(1, "us")},
		"the next":                 {of(4, "them"), of(5, "us"), of(5, "us")},
		"nothing is to be":         {of(4, "them"), of(0, ""), of(4, "them")},
		"never less than there is": {of(4, "them"), of(3, "us"), of(4, "them")},
	} {
		t.Run(name, func(t *testing.T) {
			got := Decide(up(func(s *snapshot) { s.Binding.Status.Holder, s.Connection.Holder = test.before, test.wanted })).Holder
			if got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
