// Package podevent decides, without any I/O, which of a provider's events about remote objects, pods
// included, the consumer shows on its own objects.
//
// # How it works
//
// Read keeps the needed parts of an event, as an Occurrence. A Buffer holds the occurrences of one provider,
// and limits everything that a provider could make grow. Decide compares one object's occurrences with the
// consumer's events about it. Each occurrence has one event in the consumer, whose name is derived from it.
// So after a crash, or in a second reconcile, Decide finds the same event.
//
// # What it trades away
//
// By default, only warnings are shown, so an object without problems costs no write. Normal events, if a
// ClusterBinding asks for them, take nothing from warnings: they are dropped first, and have half of an object's
// room. The time of the last occurrence is
// written together with the count, and is no reason for a write by itself. While the consumer has MostShown
// events of a provider about an object, new ones wait until an old one expires. If new events could replace
// old ones, a provider could cause writes without end.
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

// How many characters of a provider's text are kept.
const (
	maxReason  = 128
	maxMessage = 1024
)

// The lengths of the longest names and UID in Kubernetes, in bytes. An event with longer ones is not about an
// object of Spillway.
const (
	maxNamespace = 63
	maxName      = 253
	maxUID       = 64
)

// Target is an object in a provider. A later object with the same name is another Target.
type Target struct {
	// Kind is the kind's name in the API, such as Pod.
	Kind string
	types.NamespacedName
	UID types.UID
}

// Occurrence is the kept part of an event in a provider.
type Occurrence struct {
	// ID is derived from the UID of the event.
	ID string
	// Reason and Message are clean and bounded.
	Reason, Message string
	// Normal reports that the event is no warning.
	Normal bool
	// Count is how often the event has happened, at least once.
	Count int32
	// First and Last are when the event happened, by the provider's clock; zero if unknown.
	First, Last time.Time
}

// Read returns the needed parts of an event in a provider, and the object of any kind that it is about. It
// returns false unless the event is about an object in a namespace, and is a warning, or all events are read.
// Spillway asks the provider for such events only, but a provider need not obey.
func Read(event *corev1.Event, all bool) (Target, Occurrence, bool) {
	about := event.InvolvedObject
	target := Target{Kind: about.Kind, NamespacedName: types.NamespacedName{Namespace: about.Namespace, Name: about.Name}, UID: about.UID}
	normal := event.Type == corev1.EventTypeNormal
	if normal && !all || about.Namespace != event.Namespace ||
		outside(about.Namespace, maxNamespace) || outside(about.Name, maxName) || outside(string(about.UID), maxUID) {
		return Target{}, Occurrence{}, false
	}
	o := Occurrence{
		ID:      digest(string(event.UID)),
		Reason:  bounded(event.Reason, maxReason),
		Message: bounded(event.Message, maxMessage),
		Normal:  normal,
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

// IDOf returns the ID of an event's Occurrence.
func IDOf(event metav1.Object) string { return digest(string(event.GetUID())) }

func outside(s string, limit int) bool { return s == "" || len(s) > limit }

// known returns the first plausible time.
func known(times ...time.Time) time.Time {
	for _, t := range times {
		// The API server accepts no other years.
		if year := t.UTC().Year(); year >= 1970 && year <= 9999 {
			return t.UTC().Truncate(time.Second)
		}
	}
	return time.Time{}
}

// bounded returns a copy of a provider's string, on one line and truncated. Without the copy, the part that
// was cut off would stay in memory.
func bounded(s string, limit int) string {
	const mostBytes = 4 // Of a character.
	if len(s) > mostBytes*limit {
		s = s[:mostBytes*limit+1] // One more than allowed, so that it counts as truncated.
	}
	return strings.Clone(text.Bound(strings.TrimSpace(text.Clean(s)), limit))
}

// digest returns a string of 32 characters for strings of any length.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "/")))
	return hex.EncodeToString(sum[:16])
}
