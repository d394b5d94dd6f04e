// Package podevent decides, without any I/O, which of a provider's warnings
// about the pods that run there, and all else that is sent there, are shown on the
// consumer's objects.
//
// # How it works
//
// Read keeps what is needed of an event, as an Occurrence. A Shelf holds the
// occurrences of one provider, bounded in everything that a provider could make grow.
// Decide compares one object's occurrences with the consumer's events about it. Each occurrence
// has one event there, whose name follows from it: a crash between two steps, or a
// second reconcile, finds the same one.
//
// # What it trades away
//
// Only warnings are shown: an object without problems costs no write. The time of the last
// occurrence is written together with the count; it alone is no reason for a write.
// While MostShown events of a provider about an object exist, new ones wait until the
// consumer has expired an old one: if they could push one out, a provider could cause
// writes without end.
package podevent

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/field/text"
)

// How much of a provider's text is kept, in characters.
const (
	maxReason  = 128
	maxMessage = 1024
)

// The longest names and UID in Kubernetes, in bytes. Anything longer is about nothing of
// ours.
const (
	maxNamespace = 63
	maxName      = 253
	maxUID       = 64
)

// Target is an object in a provider. Another one of the same name is another Target.
type Target struct {
	// Kind is its name in the API, such as Pod.
	Kind string
	types.NamespacedName
	UID types.UID
}

// Occurrence is what is kept of an event in a provider.
type Occurrence struct {
	// ID is derived from the UID of the event.
	ID string
	// Reason and Message are clean and bounded.
	Reason, Message string
	// Count is how often it has happened, at least once.
	Count int32
	// First and Last are when it happened, by the provider's clock; zero if unknown.
	First, Last time.Time
}

// Read keeps what is needed of an event in a provider, and says what it is about, of any
// kind. It returns false unless the event is a warning about an object of a namespace: the
// provider is asked for no others, but need not obey.
func Read(event *corev1.Event) (Target, Occurrence, bool) {
	about := event.InvolvedObject
	target := Target{Kind: about.Kind, NamespacedName: types.NamespacedName{Namespace: about.Namespace, Name: about.Name}, UID: about.UID}
	if event.Type == corev1.EventTypeNormal || about.Namespace != event.Namespace ||
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

// known is the first plausible time.
func known(times ...time.Time) time.Time {
	for _, t := range times {
		// The API server accepts no other years.
		if year := t.UTC().Year(); year >= 1970 && year <= 9999 {
			return t.UTC().Truncate(time.Second)
		}
	}
	return time.Time{}
}

// bounded is a copy of a provider's string, on one line and truncated. It is a copy
// because what was cut off would otherwise stay in memory.
func bounded(s string, limit int) string {
	const mostBytes = 4 // of a character
	if len(s) > mostBytes*limit {
		s = s[:mostBytes*limit+1] // One more than allowed, so that it counts as truncated.
	}
	return strings.Clone(text.Bound(strings.TrimSpace(text.Clean(s)), limit))
}

// digest is a string of 32 characters for one of any length.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return hex.EncodeToString(sum[:16])
}
