// Package podevent decides, without any I/O, which of a provider's warnings
// about the pods that run there are shown on the consumer's pods.
//
// # How it works
//
// Read keeps of an event what is needed, as an Occurrence. A Shelf holds the
// occurrences of one provider, bounded in all that a provider could make grow.
// Decide compares those of one pod with the consumer's events about it. Each
// occurrence has one event there, whose name follows from it: a crash between
// two steps, or a second pass, finds the same one.
//
// # What it trades away
//
// Only warnings are shown: a pod that nothing is wrong with costs no write. When
// a provider last saw something is written together with how often; that alone
// is no reason for a write. While MostShown events are there about a pod, new
// ones wait until the consumer has let an old one expire: one that could be
// pushed out would let a provider write without end.
package podevent

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/provenance"
)

// How much of what a provider wrote is kept, in characters.
const (
	maxReason  = 128
	maxMessage = 1024
)

// How long the names and the UID of a pod can be in Kubernetes, in bytes. What
// is longer is of no pod of ours.
const (
	maxNamespace = 63
	maxName      = 253
	maxUID       = 64
)

// Target is a pod in a provider. Another one of the same name is another Target.
type Target struct {
	types.NamespacedName
	UID types.UID
}

// Occurrence is what is kept of an event in a provider.
type Occurrence struct {
	// ID is made of the UID of the event.
	ID string
	// Reason and Message are clean and bounded.
	Reason, Message string
	// Count is how often it has happened, at least once.
	Count int32
	// First and Last are when it happened, by the clock of the provider; zero if
	// that is not known.
	First, Last time.Time
}

// Read keeps what is needed of an event in a provider, and says which pod it is
// about. It is false for what is no warning about a pod: the provider is asked
// for nothing else, but need not obey.
func Read(event *corev1.Event) (Target, Occurrence, bool) {
	about := event.InvolvedObject
	target := Target{NamespacedName: types.NamespacedName{Namespace: about.Namespace, Name: about.Name}, UID: about.UID}
	if event.Type == corev1.EventTypeNormal || about.Kind != "Pod" || about.Namespace != event.Namespace ||
		outside(about.Namespace, maxNamespace) || outside(about.Name, maxName) || outside(string(about.UID), maxUID) {
		return Target{}, Occurrence{}, false
	}
	o := Occurrence{
		ID:      digest(string(event.UID)),
		Reason:  bounded(event.Reason, maxReason),
		Message: bounded(event.Message, maxMessage),
		Count:   max(1, event.Count),
		First:   known(event.FirstTimestamp.Time, event.EventTime.Time, event.CreationTimestamp.Time),
		Last:    known(event.LastTimestamp.Time, event.EventTime.Time, event.FirstTimestamp.Time, event.CreationTimestamp.Time),
	}
	// Newer programs, such as the scheduler, count in a series.
	if event.Series != nil {
		o.Count = max(o.Count, event.Series.Count)
		o.Last = known(event.Series.LastObservedTime.Time, o.Last)
	}
	return target, o, true
}

// IDOf is the ID of what Read keeps of an event.
func IDOf(event metav1.Object) string { return digest(string(event.GetUID())) }

func outside(s string, limit int) bool { return s == "" || len(s) > limit }

// known is the first of the times that can be meant.
func known(times ...time.Time) time.Time {
	for _, t := range times {
		// The API server reads no other years.
		if year := t.UTC().Year(); year >= 1970 && year <= 9999 {
			return t.UTC().Truncate(time.Second)
		}
	}
	return time.Time{}
}

// bounded is a copy of a provider's string, on one line and cut to a length. It
// is a copy because what was cut off would stay in memory with the rest.
func bounded(s string, limit int) string {
	const mostBytes = 4 // of a character
	if len(s) > mostBytes*limit {
		s = s[:mostBytes*limit+1] // One more than can be meant, so that it is seen to be cut.
	}
	s = strings.TrimSpace(provenance.Clean(s))
	if runes := []rune(s); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return strings.Clone(s)
}

// digest is a string of 32 characters for one of any length.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return hex.EncodeToString(sum[:16])
}
