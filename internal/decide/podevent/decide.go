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
	// Component reports the events in the consumer.
	Component = "spillway"
	// MostShown is how many events of one provider about one object the consumer has at a time.
	MostShown = 10
	// leftToWarnings is how many of these only warnings may take.
	leftToWarnings = 5
	// stale is the age from which no event is created for a warning. It is less than the hour for which an
	// API server keeps events, so that an expired event is not recreated.
	stale = 30 * time.Minute
	// unknownReason replaces a missing reason.
	unknownReason = "Unknown"
)

// Snapshot is the input of Decide.
type Snapshot struct {
	Now time.Time
	// ClockSkew is how far the provider's clock is ahead of the manager's; negative: behind.
	ClockSkew time.Duration
	// ClusterID and Node belong to the binding.
	ClusterID, Node string
	// Local is the consumer's object that the events are about.
	Local corev1.ObjectReference
	// Reported are the provider's events about the remote object: warnings first, then the most recent.
	Reported []Occurrence
	// Shown are Spillway's events of this provider about the local object, by name.
	Shown map[string]*corev1.Event
	// Waits is how long until an event may be written, by name.
	Waits map[string]time.Duration
}

// Plan is what to do.
type Plan struct {
	Create []*corev1.Event
	Update []Update
	// RetryAfter is how long until the next decision; zero if nothing waits.
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
		case shown && matches(before, o), !shown && (room <= 0 || o.Normal && room <= leftToWarnings || s.isStale(o)):
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

// Name returns the name of the event that shows an occurrence. It contains a digest of the object's UID. So
// an event about another object or from another provider has another name.
func (s Snapshot) Name(o Occurrence) string {
	const mostOfObject, mostOfDigest = 200, 16
	object := s.Local.Name
	if len(object) > mostOfObject {
		object = strings.TrimRight(object[:mostOfObject], "-.")
	}
	return object + "." + digest(s.ClusterID, string(s.Local.UID), o.ID)[:mostOfDigest]
}

// matches reports whether an event shows an occurrence unchanged. It ignores times: they change with the count,
// and would never match if a clock is wrong.
func matches(event *corev1.Event, o Occurrence) bool {
	return event.Reason == reason(o) && event.Message == o.Message && event.Count == o.Count
}

func reason(o Occurrence) string { return cmp.Or(o.Reason, unknownReason) }

func (s Snapshot) isStale(o Occurrence) bool { return s.Now.Sub(s.last(o)) > stale }

// last returns when an occurrence was last seen, by the manager's clock, and not later than now.
func (s Snapshot) last(o Occurrence) time.Time {
	last := o.Last.Add(-s.ClockSkew)
	if o.Last.IsZero() || last.After(s.Now) {
		return s.Now
	}
	return last
}

// event returns the event for an occurrence.
func (s Snapshot) event(name string, o Occurrence) *corev1.Event {
	last := s.last(o)
	first := o.First.Add(-s.ClockSkew)
	if o.First.IsZero() || first.After(last) {
		first = last
	}
	kind := corev1.EventTypeWarning
	if o.Normal {
		kind = corev1.EventTypeNormal
	}
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: s.Local.Namespace, Name: name},
		InvolvedObject: s.Local,
		Type:           kind,
		Reason:         reason(o),
		Message:        text.Clean(o.Message),
		Count:          o.Count,
		FirstTimestamp: metav1.NewTime(first),
		LastTimestamp:  metav1.NewTime(last),
		// kubectl describe shows the component of the source, and nothing else that names the provider. A Service may be
		// in several.
		Source:              corev1.EventSource{Component: s.Node},
		ReportingController: Component,
		ReportingInstance:   s.ClusterID,
	}
}

// changed returns an event as it should be.
func (s Snapshot) changed(before *corev1.Event, o Occurrence) *corev1.Event {
	after := before.DeepCopy()
	after.Reason, after.Message, after.Count = reason(o), o.Message, o.Count
	after.LastTimestamp = metav1.NewTime(s.last(o))
	return after
}
