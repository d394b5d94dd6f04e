// Package lease decides, without any I/O, who may write in a provider.
//
// Each provider has a Lease for each origin and clusterID. Its holder writes in the provider, and any other
// manager only reads. The consumer's leader election cannot ensure that. A restored copy of the consumer has
// its own election, so both clusters have a leader.
//
// The Lease's last holder alone does not distinguish the copy from the original: when the original restarts,
// the Lease is free for a moment. So the Lease carries a generation. The holder raises it whenever it takes the
// Lease, and from time to time. The ClusterBinding records each generation first. A copy that was made earlier
// remembers a lower one.
//
// Clocks of other machines are not trusted: a holder counts as alive if its Lease changes while this manager
// watches.
package lease

import (
	"fmt"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/field/text"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	// Lease is the Lease in the provider, or nil.
	Lease *coordinationv1.Lease
	// Unchanged is for how long this manager, by its own clock, has seen the Lease unchanged. Renewed is set if
	// it has seen the Lease change.
	Unchanged time.Duration
	Renewed   bool

	// Mark and Account are what this consumer's Lease carries. Account is empty if the provider does not say
	// under which account it knows the manager.
	Mark    provenance.Mark
	Account string
	// Identity is the identity of this manager.
	Identity string
	// Recorded is what the status of the ClusterBinding remembers. TakeOver is what a user allows to be taken
	// over: one generation, or any generation by the manager with that identity.
	Recorded v1alpha1.HolderStatus
	TakeOver string
	// Binding is the name of the ClusterBinding, for messages.
	Binding string

	// Duration is how long a Lease holds without renewal.
	Duration time.Duration
	// RaiseDue is set if the generation has not been raised for a long time.
	RaiseDue bool
	// Leaving is set if the Lease is only wanted to delete it.
	Leaving bool
	// Sharing is set if the holder is another replica that shares the bindings: it is about to release the
	// Lease.
	Sharing bool
}

// Action is what to do about the Lease.
type Action string

// The actions.
const (
	// Write creates, takes or renews the Lease. The manager holds it once that has succeeded.
	Write Action = "Write"
	// Record waits until the ClusterBinding remembers Decision.Record, and then decides again.
	Record Action = "Record"
	// Wait decides again in a moment: the holder may or may not be alive.
	Wait Action = "Wait"
	// Refuse does nothing in the provider, for a reason.
	Refuse Action = "Refuse"
	// Delete deletes the Lease, if any.
	Delete Action = "Delete"
)

// Decision is what to do about the Lease.
type Decision struct {
	Action Action
	// Generation is the generation of the Lease to write.
	Generation int64
	// Record is the generation that the ClusterBinding should remember.
	Record int64
	// Reason and Message say why this manager must not write in the provider.
	Reason, Message string
}

// Decide returns what to do about the Lease. When leaving, it deletes a Lease that it could hold.
func Decide(s Snapshot) Decision {
	d := s.hold()
	if s.Leaving && (d.Action == Write || d.Action == Record) {
		return Decision{Action: Delete}
	}
	return d
}

// hold returns what to do to hold the Lease.
func (s Snapshot) hold() Decision {
	if s.Lease == nil {
		return s.take(0)
	}
	generation, problem := s.ownGeneration()
	held := ptr.Deref(s.Lease.Spec.HolderIdentity, "")
	fresh := held != "" && s.Unchanged < s.lasts()
	behind := max(s.Recorded.Generation, s.takeOver(generation)) < generation
	switch {
	case problem != "":
		return Decision{Action: Refuse, Reason: v1alpha1.ReasonLeaseConflict, Message: problem}
	case held == s.Identity:
		return s.renew(generation)
	case fresh && s.Renewed && !s.Sharing:
		return Decision{Action: Refuse, Reason: v1alpha1.ReasonHeldByAnother, Message: s.heldBy(held)}
	case fresh:
		return Decision{Action: Wait}
	case behind:
		return Decision{Action: Refuse, Reason: v1alpha1.ReasonTakeOverNeeded, Message: s.behind(generation)}
	default:
		return s.take(generation)
	}
}

// mostGeneration is the highest generation that a provider can make the ClusterBinding remember. Higher ones
// count only if they follow what it remembers. Nothing could follow the highest number, and the remembered
// generation never decreases.
const mostGeneration = 1 << 53

// ownGeneration returns the generation of the Lease, or why the Lease is not this consumer's.
func (s Snapshot) ownGeneration() (generation int64, problem string) {
	named := fmt.Sprintf("Lease %s in namespace %s of the provider", s.Lease.Name, v1alpha1.ProviderNamespace)
	if !s.Mark.IsOn(s.Lease) {
		return 0, named + " exists, and is left alone: " + provenance.Describe(s.Lease)
	}
	if by := s.Lease.Labels[v1alpha1.LabelAccount]; s.Account != "" && by != s.Account {
		return 0, fmt.Sprintf("%s belongs to account %q, and this manager uses account %q: "+
			"ask the provider's administrator to delete the Lease", named, clean(by), s.Account)
	}
	generation, ok := generationOf(s.Lease)
	if !ok || generation > max(mostGeneration, s.Recorded.Generation+1) {
		return 0, fmt.Sprintf("%s has no valid generation in annotation %s: ask the provider's administrator to delete the Lease",
			named, v1alpha1.AnnotationGeneration)
	}
	return generation, ""
}

// takeOver returns the generation that a user allows this manager to take over: the Lease's, or 0. If the user
// names this manager, it may take any generation, once. So one command is enough for all bindings of a cluster
// that was restored in place. It never allows a copy of the cluster to do so, since no other process ever has
// this identity. It does not count where this manager has seen another one at work. Otherwise it would take
// over as soon as that one releases its Lease.
func (s Snapshot) takeOver(generation int64) int64 {
	if s.TakeOver == strconv.FormatInt(generation, 10) || s.TakeOver == s.Identity && s.byName() {
		return generation
	}
	return 0
}

// byName reports whether naming this manager is enough: it has never taken the Lease, and has seen nobody else
// renew it.
func (s Snapshot) byName() bool { return s.Recorded.Identity != s.Identity && !s.Renewed }

// lasts returns how long the Lease is valid: its holder may use a longer duration.
func (s Snapshot) lasts() time.Duration {
	said := time.Duration(ptr.Deref(s.Lease.Spec.LeaseDurationSeconds, 0)) * time.Second
	return max(s.Duration, min(said, longest))
}

// take makes this manager the holder, once the ClusterBinding remembers the new generation.
func (s Snapshot) take(generation int64) Decision {
	if s.Recorded.Identity == s.Identity && s.Recorded.Generation > generation {
		return Decision{Action: Write, Generation: s.Recorded.Generation, Record: s.Recorded.Generation}
	}
	if s.Recorded.Identity == "" && s.Recorded.Generation > generation {
		// The API server does not keep the identity: raising the generation would never end.
		return Decision{Action: Record, Record: s.Recorded.Generation}
	}
	return Decision{Action: Record, Record: max(s.Recorded.Generation, generation) + 1}
}

// renew keeps the Lease. When a raise is due, it asks the ClusterBinding to remember the next generation. It
// does not wait for that, and raises the generation once the ClusterBinding remembers it.
func (s Snapshot) renew(generation int64) Decision {
	remembered := int64(0)
	if s.Recorded.Identity == s.Identity {
		remembered = s.Recorded.Generation
	}
	switch {
	case remembered > generation:
		return Decision{Action: Write, Generation: remembered, Record: remembered}
	case s.RaiseDue:
		return Decision{Action: Write, Generation: generation, Record: generation + 1}
	default:
		return Decision{Action: Write, Generation: generation, Record: generation}
	}
}

func (s Snapshot) heldBy(identity string) string {
	message := fmt.Sprintf("another manager, %s, uses this provider for the same cluster", clean(identity))
	if since := s.Lease.Spec.AcquireTime; since != nil {
		message += ", since " + since.UTC().Format(time.RFC3339)
	}
	return message + ": this manager writes nothing there. Is one of the two clusters a restored copy?"
}

func (s Snapshot) behind(generation int64) string {
	message := fmt.Sprintf("another manager has used this provider for the same cluster, or this binding was recreated: the Lease in the provider has generation %d, and this ClusterBinding remembers %d. "+
		"If only this cluster should continue: kubectl annotate --overwrite clusterbinding %s %s=%d",
		generation, s.Recorded.Generation, s.Binding, v1alpha1.AnnotationTakeOver, generation)
	if s.byName() {
		message += fmt.Sprintf("; if it was restored from a backup, for all bindings at once: kubectl annotate --overwrite clusterbinding --all %s=%s", v1alpha1.AnnotationTakeOver, s.Identity)
	}
	return message
}

// identityMost is the most characters of an identity that are quoted.
const identityMost = 128

func clean(identity string) string {
	return text.Bound(identity, identityMost)
}
