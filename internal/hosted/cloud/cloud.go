// Package cloud is what the client of each cloud tells of a cluster, in terms that are the
// same for all.
package cloud

import (
	"errors"
	"time"

	"github.com/spillway-io/spillway/internal/hosted/merge"
)

// ErrNotFound: the cloud does not have the cluster.
var ErrNotFound = errors.New("the cloud does not have the cluster")

// ErrBusy: the cloud refuses a request, because another operation is under way, or because
// the cluster is no longer as it was read. It has to be read again.
var ErrBusy = errors.New("the cluster is being changed, or has changed since it was read")

// Reading is a cluster as it was read.
type Reading struct {
	// Config is what merge.Input takes as Upstream.
	Config map[string]any
	// Complete is false if a part could not be read, for example because a node pool was
	// deleted meanwhile. Such a reading decides nothing.
	Complete bool
	// IDs are the cloud's names of the cluster, at "", and of its pools, by their paths.
	IDs map[string]string
	// Busy says what the cloud is doing with the cluster or a pool; empty if nothing.
	Busy string
}

// Operation is a change that the cloud has accepted, from anybody.
type Operation struct {
	ID string
	// Item is the path of the pool that it changes; empty for the cluster.
	Item string
	// Done and Failed tell how far it is; Message why it has failed.
	Done, Failed bool
	Message      string
	// Values are those that it sets, by path, as far as the cloud tells.
	Values  map[string]merge.Text
	Created time.Time
}
