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

// ErrNoVersion: the cloud gave no version with what is to be changed, so that nothing would
// keep a request from overwriting somebody else's change.
var ErrNoVersion = errors.New("the cloud gave no version with it, so it cannot be changed safely")

// Reading is a cluster as it was read.
type Reading struct {
	// Config is what merge.Input takes as Upstream.
	Config map[string]any
	// Complete is false if a part could not be read, for example because a node pool was
	// deleted meanwhile. Such a reading decides nothing.
	Complete bool
	// UID is another one if the cluster was deleted, and made again under its name.
	UID string
	// IDs are the cloud's names of the cluster, at "", and of its pools, by their paths.
	IDs map[string]string
	// Versions are those of the cluster, at "", and of its pools, by their paths, in clouds
	// that have them.
	Versions map[string]string
	// Raw are the objects as the cloud sent them, by the same paths, for clouds in which
	// they are replaced as wholes: what nobody here knows of has to survive that. In EKS, it
	// is what a client has to know of the launch template of a group.
	Raw map[string]map[string]any
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
