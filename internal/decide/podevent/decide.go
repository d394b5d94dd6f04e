package podevent

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/retry"
)

const (
	// Component is the source of the consumer's events.
	Component = "spillway"
	// MostShown is how many events of one provider about one object there are in the consumer
	// at a time.
	MostShown = 10
	// stale is the age from which no event is created for a warning. It is less than the
	// hour that an API server keeps events, so that an event that has expired is not
	// recreated.
	stale = 30 * time.Minute
	// unknownReason replaces a missing reason.
	unknownReason = "Unknown"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	Now time.Time
	// Ahead is how far the provider's clock is ahead of ours; negative: behind.
	Ahead time.Duration
	// ClusterID and Node are those of the binding.
	ClusterID, Node string
	// Local is the consumer's object that the events are about.
	Local corev1.ObjectReference
	// Reported are the provider's warnings about the remote object, the most recent
	// first.
	Reported []Occurrence
	// Shown are our events of this provider about the local object, by name.
	Shown map[string]*corev1.Event
	// Waits are how long events must not be written yet, by name.
	Waits map[string]time.Duration
}

// Plan is what to do.
type Plan struct {
	Create []*corev1.Event
	Update []Update
	// RetryAfter is when to look again; zero if nothing waits.
	RetryAfter time.Duration
}

// Update is a change of one event.
type Update struct{ Before, After *corev1.Event }

// Decide compares what the provider reports about an object with what is shown.
func Decide(s Snapshot) Plan {
	var plan Plan
	room := MostShown - len(s.Shown)
	for _, o := range s.Reported[:min(len(s.Reported), MostShown)] {
		name := s.Name(o)
		before, shown := s.Shown[name]
		switch {
		case shown && says(before, o), !shown && (room <= 0 || s.isStale(o)):
			continue
		case s.Waits[name] > 0:
			plan.RetryAfter = retry.Sooner(plan.RetryAfter, s.Waits[name])
		case shown:
			plan.Update = append(plan.Update, Update{before, s.changed(before, o)})
		default:
			room--
			plan.Create = append(plan.Create, s.event(name, o))
		}
	}
	return plan
}

// Name is the name of the event that shows an occurrence. It contains a digest of the
// object's UID, so that it cannot be about another object or from another provider.
func (s Snapshot) Name(o Occurrence) string {
	const mostOfObject, mostOfDigest = 200, 16
	object := s.Local.Name
	if len(object) > mostOfObject {
		object = strings.TrimRight(object[:mostOfObject], "-.")
	}
	return object + "." + digest(s.ClusterID, string(s.Local.UID), o.ID)[:mostOfDigest]
}

// says reports whether an event shows an occurrence as it is. Times do not count: they
// change with the count, and with a wrong clock they would never match.
func says(event *corev1.Event, o Occurrence) bool {
	return event.Reason == reason(o) && event.Message == o.Message && event.Count == o.Count
}

func reason(o Occurrence) string { return cmp.Or(o.Reason, unknownReason) }

func (s Snapshot) isStale(o Occurrence) bool { return s.Now.Sub(s.last(o)) > stale }

// last is when an occurrence was last seen, by our own clock, and not later than now.
func (s Snapshot) last(o Occurrence) time.Time {
	last := o.Last.Add(-s.Ahead)
	if o.Last.IsZero() || last.After(s.Now) {
		return s.Now
	}
	return last
}

// event is the event for an occurrence.
func (s Snapshot) event(name string, o Occurrence) *corev1.Event {
	last := s.last(o)
	first := o.First.Add(-s.Ahead)
	if o.First.IsZero() || first.After(last) {
		first = last
	}
	return &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: s.Local.Namespace, Name: name},
		InvolvedObject:      s.Local,
		Type:                corev1.EventTypeWarning,
		Reason:              reason(o),
		Message:             text.Clean(o.Message),
		Count:               o.Count,
		FirstTimestamp:      metav1.NewTime(first),
		LastTimestamp:       metav1.NewTime(last),
		Source:              corev1.EventSource{Component: Component, Host: s.Node},
		ReportingController: Component,
		ReportingInstance:   s.ClusterID,
	}
}

// changed is an event as it should be.
func (s Snapshot) changed(before *corev1.Event, o Occurrence) *corev1.Event {
	after := before.DeepCopy()
	after.Reason, after.Message, after.Count = reason(o), o.Message, o.Count
	after.LastTimestamp = metav1.NewTime(s.last(o))
	return after
}
