package oracle

import (
	"context"
	"net/http"
	"time"
)

// Ledger records what happens in the clusters of a lane.
type Ledger struct{}

// Watch opens a ledger, which is filled when it returns, and ends with ctx. One
// serves for all runs of its lane.
func Watch(ctx context.Context, lane Lane) (*Ledger, error) { panic("not yet") }

// Begin forgets the run before. The lane is to be empty.
func (l *Ledger) Begin() {}

// WrapNamed is the witness: it goes between the fault injector and the network,
// so that it sees what really reaches an API server. cluster is Consumer or the
// ID of a provider.
func (l *Ledger) WrapNamed(cluster string, next http.RoundTripper) http.RoundTripper { return next }

// LastChange is when the last event of the lane came in; leases and events are none.
func (l *Ledger) LastChange() time.Time { return time.Time{} }

// Settle reads all that there is, and waits until the watches show the same. To
// be called once nobody writes any more, and before State, Counts and Violations.
// It fails with ErrGap if a watch was broken during the run: what happened then
// is not known, and the run counts for nothing.
func (l *Ledger) Settle(ctx context.Context) error { return nil }

// State is all that there was at the last Settle.
func (l *Ledger) State() State { return nil }

// Counts are numbers of objects by "cluster kind", and of those that were ever
// made by "cluster kind ever".
func (l *Ledger) Counts() map[string]int { return nil }

// Violations are sentences, sorted; none, if all held at each moment.
func (l *Ledger) Violations() []string { return nil }
