package status

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Object is what Spillway says about an object of an offloaded namespace that is no pod: a provider does not have it, or has it
// with changes. Nothing but an event says so, and API servers keep events for an hour.
type Object struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Reason    string `json:"reason"`
	Message   string `json:"message,omitempty"`
	// Since is when it was last said.
	Since string `json:"since"`
	// age is how long ago that was.
	age string
}

// String implements fmt.Stringer.
func (o Object) String() string {
	return o.Kind + " " + o.Name + ": " + Wait{Reason: o.Reason, Message: o.Message}.String() + " (at " + o.Since + ", " + o.age + " ago)"
}

// othersWarnings selects warnings about objects other than pods. About pods, their conditions say more.
var othersWarnings = client.MatchingFieldsSelector{Selector: fields.AndSelectors(
	fields.OneTermEqualSelector("type", corev1.EventTypeWarning), fields.OneTermNotEqualSelector("involvedObject.kind", "Pod"),
)}

const (
	// mostRead is how many of these objects are read, to see whether they have changed. The others count as unchanged.
	mostRead = 50
	// mostDrawn is how many lines the text has for one namespace.
	mostDrawn = 10
)

// ReadObjects reads the warnings about objects of offloaded namespaces. It changes nothing in seen if the user may not read
// events.
func (s *Seen) ReadObjects(ctx context.Context, consumer client.Client) error {
	if len(s.Offloadings) == 0 && !s.Hides(Offloadings) {
		return nil
	}
	events := &corev1.EventList{}
	err := consumer.List(ctx, events, client.InNamespace(s.Namespace), othersWarnings)
	switch {
	case apierrors.IsForbidden(err):
		if !s.Hides(Events) {
			s.Hidden = append(s.Hidden, Events)
		}
		return nil
	case err != nil:
		return fmt.Errorf("reading %s: %w", Events, err)
	}
	told := s.about(events.Items)
	for i := range told {
		if i >= mostRead || holds(ctx, consumer, &told[i]) {
			s.Objects = append(s.Objects, objectOf(&told[i], time.Now()))
		}
	}
	return nil
}

// about returns Spillway's events about objects of offloaded namespaces, the last one of each object and message. Objects of
// Spillway's own kinds have conditions.
func (s *Seen) about(events []corev1.Event) []corev1.Event {
	offloaded := func(namespace string) bool {
		return s.Hides(Offloadings) || slices.ContainsFunc(s.Offloadings, func(o v1alpha1.NamespaceOffloading) bool { return o.Namespace == namespace })
	}
	var all []corev1.Event
	for i := range events {
		e := &events[i]
		if !Ours(e) || ofProvider(e) || !offloaded(e.InvolvedObject.Namespace) || schema.FromAPIVersionAndKind(e.InvolvedObject.APIVersion, "").Group == v1alpha1.GroupVersion.Group {
			continue
		}
		same := slices.IndexFunc(all, func(other corev1.Event) bool {
			return other.InvolvedObject.UID == e.InvolvedObject.UID && other.Reason == e.Reason && other.Message == e.Message
		})
		switch {
		case same < 0:
			all = append(all, *e)
		case When(&all[same]).Before(When(e)):
			all[same] = *e
		}
	}
	slices.SortFunc(all, func(a, b corev1.Event) int {
		x, y := a.InvolvedObject, b.InvolvedObject
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Kind, y.Kind), cmp.Compare(x.Name, y.Name), When(&a).Compare(When(&b)), cmp.Compare(a.Message, b.Message))
	})
	return all
}

func objectOf(e *corev1.Event, now time.Time) Object {
	said := NewWait("", e.Reason, e.Message)
	return Object{
		Namespace: e.InvolvedObject.Namespace, Kind: NewWait(e.InvolvedObject.Kind, "", "").Type, Name: e.InvolvedObject.Name,
		Reason: said.Reason, Message: said.Message, Since: When(e).UTC().Format(time.RFC3339),
		age: duration.HumanDuration(now.Sub(When(e))),
	}
}

// holds reports whether an event may still be true: its object is there, and nobody has changed it since. An object that cannot
// be read counts as there. A team can create an event that names no object, and an API group may not answer.
func holds(ctx context.Context, consumer client.Client, e *corev1.Event) bool {
	about := &metav1.PartialObjectMetadata{}
	about.SetGroupVersionKind(schema.FromAPIVersionAndKind(e.InvolvedObject.APIVersion, e.InvolvedObject.Kind))
	err := consumer.Get(ctx, client.ObjectKey{Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name}, about)
	if err != nil {
		return !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err)
	}
	return concerns(e, about)
}

// concerns reports whether an event is about an object as it is. Somebody other than Spillway may have changed it since, and
// not only its status.
func concerns(e *corev1.Event, object metav1.Object) bool {
	return object.GetUID() == e.InvolvedObject.UID && !slices.ContainsFunc(object.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Subresource == "" && !strings.HasPrefix(f.Manager, spillway) && f.Time != nil && f.Time.After(When(e))
	})
}

// drawObjects adds what Spillway says about objects.
func drawObjects(to *strings.Builder, objects []Object) {
	if len(objects) == 0 {
		return
	}
	all := line(to, "within the last hour, and perhaps repaired since: not in a provider, or there with changes:")
	var in *branch
	for i, object := range objects {
		if i == 0 || object.Namespace != objects[i-1].Namespace {
			in = all.add("namespace " + object.Namespace)
		}
		if len(in.below) < mostDrawn {
			in.add(object.String())
		} else if len(in.below) == mostDrawn {
			in.add("and more; -o json has all")
		}
	}
	all.end()
}
