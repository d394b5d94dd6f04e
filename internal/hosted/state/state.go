// Package state decides what to do next about a hosted cluster, and when to look again. It
// does no I/O.
//
// A cluster goes from Creating or Importing to Idle. From there, a request goes through
// Writing (it is in the status, and perhaps it was made), Waiting (the cloud works on it)
// and Verifying (it is done, and has to be read) back to Idle. While somebody else changes
// the cluster it is ForeignUpdate: what is read then may be half of a change, so it is
// neither taken over nor overwritten.
//
// The phase is not stored. It follows from the status and from what was read, so a process
// that crashes anywhere goes on where it was.
package state

import (
	"time"

	"github.com/spillway-io/spillway/api/hosted/v1alpha1"
	"github.com/spillway-io/spillway/internal/hosted/cloud"
)

// Phase of a hosted cluster.
type Phase string

// The phases.
const (
	Paused        Phase = "Paused"
	NotFound      Phase = "NotFound"
	Replaced      Phase = "Replaced"
	AlreadyExists Phase = "AlreadyExists"
	Duplicate     Phase = "Duplicate"
	Incomplete    Phase = "Incomplete"
	Creating      Phase = "Creating"
	Importing     Phase = "Importing"
	Idle          Phase = "Idle"
	Writing       Phase = "Writing"
	Waiting       Phase = "Waiting"
	Verifying     Phase = "Verifying"
	Failed        Phase = "Failed"
	ForeignUpdate Phase = "ForeignUpdate"
	Deleting      Phase = "Deleting"
	// NotMarked: the object is being deleted, and its cluster is not, since nobody has made it
	// for this object.
	NotMarked Phase = "NotMarked"
)

// Step is what to do in a phase.
type Step string

// The steps.
const (
	// Wait does nothing.
	Wait Step = "Wait"
	// Create asks for the cluster.
	Create Step = "Create"
	// Delete asks for its end.
	Delete Step = "Delete"
	// Release lets the object go.
	Release Step = "Release"
	// Resume makes the request of the status again, if it can do no harm.
	Resume Step = "Resume"
	// Fail notes why the operation has failed, and then does as Sync.
	Fail Step = "Fail"
	// Sync merges, stores what is decided, and sends the first request of it.
	Sync Step = "Sync"
)

// CallCreate is the call of an operation that creates the cluster.
const CallCreate = "CreateCluster"

// A cloud may show a cluster only some time after it was asked for, and a request whose answer
// was lost may still be on its way.
const (
	// CreateShows is how long to wait for it before the object may go.
	CreateShows = 20 * time.Minute
	// CreateNoted is how old the time of a request in the status may be when it is repeated.
	CreateNoted = 5 * time.Minute
)

// Seen is what there is to decide on.
type Seen struct {
	Spec     v1alpha1.HostedClusterSpec
	Status   v1alpha1.HostedClusterStatus
	Deleting bool
	// Twin names another object that has the same cluster; empty if there is none.
	Twin string
	Now  time.Time
	// Missing: the cloud does not have the cluster. Otherwise Reading is as it was read.
	Missing bool
	Reading cloud.Reading
	// Marked: the cluster that was read was made for this object.
	Marked bool
	// Operation is what the cloud says of that of the status, if it has a name for it. It is
	// older than the Reading: what is done there can be read here.
	Operation *cloud.Operation
}

// Early decides without asking the cloud, if that can be.
func Early(s Seen) (Phase, Step, bool) {
	switch {
	case s.Deleting && s.Spec.DeletionPolicy != v1alpha1.DeletionPolicyDelete:
		return Deleting, Release, true
	case s.Spec.Paused:
		return Paused, Wait, true
	case s.Twin != "" && s.Deleting:
		return Deleting, Release, true
	case s.Twin != "":
		return Duplicate, Wait, true
	default:
		return "", "", false
	}
}

// Next decides.
func Next(s Seen) (Phase, Step) {
	if phase, step, ok := Early(s); ok {
		return phase, step
	}
	switch op := s.Status.Operation; {
	case s.Deleting:
		return s.delete()
	case s.Missing:
		return s.missing()
	case s.replaced():
		return Replaced, Wait
	case s.somebodyElses():
		return AlreadyExists, Wait
	case op != nil && op.Call == CallCreate:
		return s.created()
	case op != nil && op.Message == "":
		return s.inFlight(*op)
	case s.Reading.Busy != "":
		return ForeignUpdate, Wait
	case !s.Reading.Complete:
		return Incomplete, Wait
	case op != nil:
		return Failed, Sync
	case !imported(s.Status):
		return Importing, Sync
	default:
		return Idle, Sync
	}
}

func (s Seen) created() (Phase, Step) {
	switch {
	case s.Reading.Busy != "":
		return Creating, Wait
	case !s.Reading.Complete:
		return Incomplete, Wait
	default:
		return Importing, Sync
	}
}

// inFlight: an operation of ours is in the status, and was not seen to be of no use. That the
// cloud does not say that it is busy tells nothing, if it has a name for the operation.
func (s Seen) inFlight(op v1alpha1.Operation) (Phase, Step) {
	named := op.CloudID != ""
	switch {
	case named && (s.Operation == nil || !s.Operation.Done), s.Reading.Busy != "":
		return Waiting, Wait
	case !s.Reading.Complete:
		return Incomplete, Wait
	case !named:
		return Writing, Resume
	case s.Operation.Failed:
		return Failed, Fail
	default:
		return Verifying, Sync
	}
}

// delete deletes what was made for this object, and nothing else. A cluster that was there
// before, and was never asked for, is left.
func (s Seen) delete() (Phase, Step) {
	switch {
	case s.Unanswered():
		return Deleting, Wait
	case s.Gone():
		return Deleting, Release
	case s.somebodyElses() && s.Status.Operation == nil:
		return Deleting, Release
	case !s.Marked:
		return NotMarked, Wait
	case s.Reading.Busy != "":
		return Deleting, Wait
	default:
		return Deleting, Delete
	}
}

// somebodyElses tells whether the cluster was to be made, and was made by somebody else.
func (s Seen) somebodyElses() bool {
	return !s.Marked && !imported(s.Status) && s.Spec.Lifecycle.Mode == v1alpha1.LifecycleCreate
}

// Unanswered tells whether the cluster was asked for not long ago, and may still appear.
func (s Seen) Unanswered() bool {
	op := s.Status.Operation
	return s.Missing && op != nil && op.Call == CallCreate && op.Message == "" && !imported(s.Status) && s.Now.Sub(op.StartedAt.Time).Abs() < CreateShows
}

// missing: a cluster that was there once, and was deleted by somebody, is not made again.
func (s Seen) missing() (Phase, Step) {
	if s.Spec.Lifecycle.Mode == v1alpha1.LifecycleCreate && !imported(s.Status) {
		return Creating, Create
	}
	return NotFound, Wait
}

// Gone tells whether the cluster that was here once is not there any more: there is none of
// its name, or another one.
func (s Seen) Gone() bool { return s.Missing || s.replaced() }

func (s Seen) replaced() bool {
	return !s.Missing && s.Status.UpstreamUID != "" && s.Reading.UID != "" && s.Status.UpstreamUID != s.Reading.UID
}

// imported tells whether the cluster was ever read.
func imported(s v1alpha1.HostedClusterStatus) bool {
	return s.UpstreamSpec.EKSConfig != nil || s.UpstreamSpec.AKSConfig != nil || s.UpstreamSpec.GKEConfig != nil
}

// Imported tells whether the cluster was ever read.
func Imported(h *v1alpha1.HostedCluster) bool { return imported(h.Status) }
