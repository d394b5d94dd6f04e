package oracle

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

const origin = "00000000-0000-0000-0000-000000000001"

type option func(*unstructured.Unstructured)

// object has the UID "uid-of-<kind>-<name>" and no resourceVersion.
func object(kind, namespace, name string, options ...option) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind, "metadata": map[string]any{}}}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	obj.SetUID(types.UID("uid-of-" + kind + "-" + name))
	for _, o := range options {
		o(obj)
	}
	return obj
}

func uid(uid string) option {
	return func(obj *unstructured.Unstructured) { obj.SetUID(types.UID(uid)) }
}

func labelled(key, value string) option {
	return func(obj *unstructured.Unstructured) {
		labels := obj.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[key] = value
		obj.SetLabels(labels)
	}
}

func annotated(key, value string) option {
	return func(obj *unstructured.Unstructured) {
		annotations := obj.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[key] = value
		obj.SetAnnotations(annotations)
	}
}

func marked(obj *unstructured.Unstructured) {
	labelled(v1alpha1.LabelManagedBy, v1alpha1.ManagedBySpillway)(obj)
	labelled(v1alpha1.LabelOrigin, origin)(obj)
	labelled(v1alpha1.LabelBinding, "p1")(obj)
}

func standsFor(uid string) option { return annotated(v1alpha1.AnnotationLocalUID, uid) }

func inPhase(phase string) option {
	return func(obj *unstructured.Unstructured) { obj.Object["status"] = map[string]any{"phase": phase} }
}

func with(path []string, value any) option {
	return func(obj *unstructured.Unstructured) {
		if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
			panic(err)
		}
	}
}

func finalizers(all ...string) option {
	return func(obj *unstructured.Unstructured) { obj.SetFinalizers(all) }
}

// by adds a managedFields entry, as an API server does for a write.
func by(manager string) option {
	return func(obj *unstructured.Unstructured) {
		now := metav1.NewTime(time.Unix(int64(len(obj.GetManagedFields())), 0))
		obj.SetManagedFields(append(obj.GetManagedFields(), metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, Time: &now,
			FieldsV1: metav1.NewFieldsV1(`{}`),
		}))
	}
}

var byUs = by(userAgent)

// changed returns another version of an object.
func changed(obj *unstructured.Unstructured, options ...option) *unstructured.Unstructured {
	obj = obj.DeepCopy()
	for _, o := range options {
		o(obj)
	}
	return obj
}

// revised gives each event of a cluster the next resourceVersion.
func revised(events []Event) []Event {
	next := map[string]int{}
	for i := range events {
		events[i].Object = events[i].Object.DeepCopy()
		next[events[i].Cluster]++
		events[i].Object.SetResourceVersion(string(rune('0' + next[events[i].Cluster])))
	}
	return events
}

func here(obj *unstructured.Unstructured) Event  { return Event{Cluster: Consumer, Object: obj} }
func there(obj *unstructured.Unstructured) Event { return Event{Cluster: "p1", Object: obj} }

func other(obj *unstructured.Unstructured) Event { return Event{Cluster: "p2", Object: obj} }

func end(e Event) Event {
	e.Deleted = true
	return e
}

func before(e Event) Event {
	e.Before = true
	return e
}

func history(events ...Event) *History {
	return &History{ConsumerID: "c0", Origin: origin, Events: revised(events), Deleted: map[string][]types.UID{}}
}
