package state

import (
	"slices"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

// stopped reports whether the cloud is doing something during which nothing can be decided or sent. What it does
// with single pools stops nothing else, except an import.
func (s Seen) stopped() bool {
	alone := func(op v1alpha1.Operation) bool { return s.Running(op) && !s.parallel(op) }
	return s.Reading.Busy != "" || len(s.Reading.Changing) > 0 && !imported(s.Status) || slices.ContainsFunc(s.Status.AllInFlight(), alone)
}

func (s Seen) parallel(op v1alpha1.Operation) bool {
	return op.Item != "" && s.Parallel != nil && s.Parallel(op.Call)
}

// Running reports whether the cloud is carrying out an operation in flight. If the cloud has a name for it, it may be
// running although the cloud is not busy.
func (s Seen) Running(op v1alpha1.Operation) bool {
	_, changing := s.Reading.Changing[op.Item]
	return changing || op.CloudID != "" && !s.Operations[op.RequestToken].Done
}

// goesOn decides when the cloud is doing nothing, or works on single pools.
func (s Seen) goesOn() (Phase, Step) {
	flying := s.Status.AllInFlight()
	switch {
	case s.Unknown() != nil:
		return Writing, Resume
	case len(s.Failed()) > 0:
		return Failed, Fail
	case slices.ContainsFunc(flying, s.Running):
		return Waiting, Sync
	case len(flying) > 0:
		return Verifying, Sync
	case len(s.Reading.Changing) > 0:
		return ForeignUpdate, Sync
	case !imported(s.Status):
		return Importing, Sync
	case len(s.Status.Operations) > 0:
		return Failed, Sync
	default:
		return Idle, Sync
	}
}

// Unknown returns a request in flight that may or may not have been sent; nil if there is none.
func (s Seen) Unknown() *v1alpha1.Operation {
	for _, op := range s.Status.AllInFlight() {
		if op.CloudID == "" && !s.Running(op) {
			return &op
		}
	}
	return nil
}

// Others returns the requests for pools whose results are not known yet, and that do not take part in the next step.
// If the answers to several requests are unknown, they are resumed one by one.
func (s Seen) Others() []v1alpha1.Operation {
	next := s.Unknown()
	return slices.DeleteFunc(s.Status.AllInFlight(), func(op v1alpha1.Operation) bool {
		unknown := op.CloudID == "" && next != nil && next.RequestToken != op.RequestToken
		return !s.parallel(op) || !s.Running(op) && !unknown
	})
}

// Failed returns the operations in flight that have failed.
func (s Seen) Failed() []v1alpha1.Operation {
	return slices.DeleteFunc(s.Status.AllInFlight(), func(op v1alpha1.Operation) bool {
		return s.Running(op) || !s.Operations[op.RequestToken].Failed
	})
}
