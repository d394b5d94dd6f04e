// Package cloud defines what the client of each cloud reports about a cluster, in the same terms for all
// clouds.
package cloud

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/spillway-io/spillway/hosted/merge"
)

// ErrNotFound: the cloud does not have the cluster.
var ErrNotFound = errors.New("the cloud does not have the cluster")

// ErrBusy: the cloud refuses a request because another operation is running, or because the cluster has changed
// since it was read. The caller has to read it again.
var ErrBusy = errors.New("the cluster is being changed, or has changed since it was read")

// ErrNoVersion: the cloud returned no version of what a request would change. Without one, the request might
// overwrite somebody else's change.
var ErrNoVersion = errors.New("the cloud sent no version of it, so it cannot be updated safely")

// Reading is a cluster as it was read.
type Reading struct {
	// Config is the input Upstream of merge.Input.
	Config map[string]any
	// Complete is false if a part could not be read, for example because a node pool was deleted meanwhile.
	// Nothing is decided from such a reading.
	Complete bool
	// UID differs after the cluster was deleted and created again under its name.
	UID string
	// IDs are the cloud's names of the cluster (at "") and of its pools, by path.
	IDs map[string]string
	// Versions has the versions of the cluster (at "") and of its pools, by path, in clouds that have versions.
	Versions map[string]string
	// Raw has the objects as the cloud sent them, by the same paths, for clouds where a request replaces a whole
	// object: fields that Spillway does not know must survive. In EKS, it has what the client needs to know about
	// the launch template of a group.
	Raw map[string]map[string]any
	// Busy says what the cloud is doing with the cluster, or with a pool if it works on one thing at a time; empty if
	// nothing. Nothing is sent meanwhile.
	Busy string
	// Changing says what the cloud is doing with a pool, by its path, if it can work on several at a time.
	Changing map[string]string
	// Stopped says that the cloud refuses all changes until somebody starts the cluster. Nothing is sent meanwhile.
	Stopped bool
	// Troubles say what is wrong with the cluster and its pools. The cloud is not working on that. So nothing waits
	// for it, except that no other pool is deleted.
	Troubles []Trouble
}

// Doing says what the cloud is doing with the cluster or a pool; empty if nothing.
func (r Reading) Doing() string {
	if r.Busy != "" {
		return r.Busy
	}
	for _, item := range r.Items() {
		return r.Changing[item]
	}
	return ""
}

// Items returns the paths of the pools that are being changed.
func (r Reading) Items() []string { return slices.Sorted(maps.Keys(r.Changing)) }

// Change notes that the cloud is changing a pool.
func (r *Reading) Change(item, what string) {
	r.Changing = maps.Clone(r.Changing)
	if r.Changing == nil {
		r.Changing = map[string]string{}
	}
	r.Changing[item] = what
}

// Operation is a change that the cloud has accepted from any user.
type Operation struct {
	ID string
	// Item is the path of the pool that it changes; empty for the cluster.
	Item string
	// Done and Failed say how far it is. Message says why it has failed.
	Done, Failed bool
	Message      string
	// Values are the values that it sets, by path, as far as the cloud reports them.
	Values  map[string]merge.Text
	Created time.Time
}
