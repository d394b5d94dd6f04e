// Package state decides what to do next about a hosted cluster, and when to read it again. It does no I/O.
//
// A cluster goes from Creating or Importing to Idle. From there, a request goes through three phases and back
// to Idle. In Writing, the request is in the status, and perhaps sent. In Waiting, the cloud works on it. In
// Verifying, it is done, and has to be read. Requests that were refused stay in the status, and change nothing
// about the phases of the others. If there are any, Idle is called Failed.
//
// While somebody else changes the cluster, the phase is ForeignUpdate. What is read then may be half of a
// change, so it is neither taken over nor overwritten.
//
// If the cloud can work on several pools at a time, several requests may be in flight, each for another pool. The
// phase is then that of the request that needs the next step. A pool that is being changed is left alone, and all
// else goes on.
//
// The phase is not stored. It follows from the status and from what was read, so a process that crashes
// anywhere continues where it was.
package state

import (
	"time"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/cloud"
)

// Phase is the phase of a hosted cluster.
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
	// NotMarked: the object is being deleted, but the cluster stays, because it was not created for this
	// object.
	NotMarked Phase = "NotMarked"
)

// Step is what to do in a phase.
type Step string

// The steps.
const (
	// Wait does nothing.
	Wait Step = "Wait"
	// Create requests the cluster.
	Create Step = "Create"
	// Delete requests the deletion of the cluster.
	Delete Step = "Delete"
	// Release removes the finalizer of the object.
	Release Step = "Release"
	// Resume sends the request in flight again, if that is safe.
	Resume Step = "Resume"
	// Fail notes why the operation has failed, and continues like Sync.
	Fail Step = "Fail"
	// Sync merges, stores the decisions, and sends the first request.
	Sync Step = "Sync"
)

// CallCreate is the call of an operation that creates the cluster.
const CallCreate = "CreateCluster"

// A cloud may show a new cluster only after some time, and a request whose answer was lost may still arrive.
const (
	// CreateShows is how long a deletion waits for the cluster to appear.
	CreateShows = 20 * time.Minute
	// CreateNoted is how old the time of the request in the status may be when the request is repeated.
	CreateNoted = 5 * time.Minute
)

// Seen is what was observed.
type Seen struct {
	Spec     v1alpha1.HostedClusterSpec
	Status   v1alpha1.HostedClusterStatus
	Deleting bool
	// Twin names another object that has the same cluster; empty if there is none. TwinHas: that object has read
	// the cluster that was read, and manages it.
	Twin    string
	TwinHas bool
	Now     time.Time
	// Missing: the cloud does not have the cluster. Otherwise Reading has it.
	Missing bool
	Reading cloud.Reading
	// Marked: the cluster was created for this object.
	Marked bool
	// Operations are the cloud's reports on the operations in flight that it has a name for, by request token. They
	// are older than Reading, so Reading shows the result of an operation that is done.
	Operations map[string]cloud.Operation
	// Parallel reports whether the cloud carries out several requests of a call at a time, each for another pool. If it
	// is nil, no call is.
	Parallel func(call string) bool
}

// Early decides without a request to the cloud, if that is possible.
func Early(s Seen) (Phase, Step, bool) {
	switch {
	case s.Deleting && s.Spec.DeletionPolicy != v1alpha1.DeletionPolicyDelete:
		return Deleting, Release, true
	case s.Spec.Paused:
		return Paused, Wait, true
	case s.Twin != "" && !s.Deleting:
		return Duplicate, Wait, true
	case s.Twin != "" && !s.requested():
		return Deleting, Release, true
	default:
		return "", "", false
	}
}

// Next returns the phase and the next step.
func Next(s Seen) (Phase, Step) {
	if phase, step, ok := Early(s); ok {
		return phase, step
	}
	switch op := s.Status.InFlight(); {
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
	case s.stopped() && op != nil:
		return Waiting, Wait
	case s.stopped():
		return ForeignUpdate, Wait
	case !s.Reading.Complete:
		return Incomplete, Wait
	default:
		return s.goesOn()
	}
}

func (s Seen) created() (Phase, Step) {
	switch {
	case s.Reading.Doing() != "":
		return Creating, Wait
	case !s.Reading.Complete:
		return Incomplete, Wait
	default:
		return Importing, Sync
	}
}

// delete deletes only a cluster that was created for this object. It leaves a cluster that existed before and
// that this object never requested.
func (s Seen) delete() (Phase, Step) {
	switch {
	case s.Unanswered():
		return Deleting, Wait
	case s.Gone():
		return Deleting, Release
	case s.somebodyElses() && len(s.Status.Operations) == 0:
		return Deleting, Release
	case s.Twin != "" && (s.TwinHas || !s.Marked):
		return Deleting, Release
	case !s.Marked:
		return NotMarked, Wait
	case s.Reading.Doing() != "":
		return Deleting, Wait
	default:
		return Deleting, Delete
	}
}

// somebodyElses reports whether the object should create the cluster, but somebody else has created it.
func (s Seen) somebodyElses() bool {
	return !s.Marked && !imported(s.Status) && s.Spec.Lifecycle.Mode == v1alpha1.LifecycleCreate
}

// Unanswered reports whether the cluster was requested not long ago, and may still appear.
func (s Seen) Unanswered() bool {
	return s.Missing && s.requested() && s.Now.Sub(s.Status.InFlight().StartedAt.Time).Abs() < CreateShows
}

// requested reports whether this object has requested the cluster, and was not refused. The cluster may exist
// by now, or appear later.
func (s Seen) requested() bool {
	op := s.Status.InFlight()
	return op != nil && op.Call == CallCreate && !imported(s.Status)
}

// missing does not recreate a cluster that existed and that somebody has deleted.
func (s Seen) missing() (Phase, Step) {
	if s.Spec.Lifecycle.Mode == v1alpha1.LifecycleCreate && !imported(s.Status) {
		return Creating, Create
	}
	return NotFound, Wait
}

// Gone reports whether the cluster no longer exists: the cloud has none of its name, or another one.
func (s Seen) Gone() bool { return s.Missing || s.replaced() }

func (s Seen) replaced() bool {
	return !s.Missing && s.Status.UpstreamUID != "" && s.Reading.UID != "" && s.Status.UpstreamUID != s.Reading.UID
}

// imported reports whether the cluster was ever read.
func imported(s v1alpha1.HostedClusterStatus) bool {
	return s.UpstreamSpec.EKSConfig != nil || s.UpstreamSpec.AKSConfig != nil || s.UpstreamSpec.GKEConfig != nil
}

// Imported reports whether the cluster was ever read.
func Imported(h *v1alpha1.HostedCluster) bool { return imported(h.Status) }
