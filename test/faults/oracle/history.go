package oracle

import (
	"cmp"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Event is one version of an object, or its deletion.
type Event struct {
	Cluster string
	Object  *unstructured.Unstructured
	Deleted bool
	// Before is true if the event happened before the run began.
	Before bool
}

// revision orders the events of one cluster. A deletion has its own resource version.
func (e Event) revision() uint64 {
	revision, err := strconv.ParseUint(e.Object.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0 // The oldest: some tests of this package use objects without a version.
	}
	return revision
}

// History is the recording of one run.
type History struct {
	// ConsumerID and Origin identify the lane's objects.
	ConsumerID, Origin string
	Events             []Event
	// Deleted are the objects that the manager itself deleted, by cluster, as the API servers confirmed.
	Deleted map[string][]types.UID
	// Findings are the sentences that the witness found.
	Findings []string
}

// timeline returns the lane's events in one cluster, in their order.
func (h *History) timeline(cluster string) []Event {
	var events []Event
	for _, e := range h.Events {
		if e.Cluster == cluster {
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.revision(), b.revision()) })
	if cluster == Consumer {
		return events
	}
	return h.own(events)
}

// own drops the objects of other lanes. An object that was once the lane's stays so, even if somebody removes
// its labels. So do the objects in a namespace of the lane.
func (h *History) own(events []Event) []Event {
	uids, namespaces := map[types.UID]bool{}, map[string]bool{}
	lane := Lane{ConsumerID: h.ConsumerID}
	for _, e := range events {
		obj := e.Object
		labels := obj.GetLabels()
		if labels[v1alpha1.LabelOrigin] == h.Origin || labels[LabelLane] == h.ConsumerID || (isNamespace(obj) && lane.ownName(obj.GetName())) {
			uids[obj.GetUID()] = true
			if isNamespace(obj) {
				namespaces[obj.GetName()] = true
			}
		}
	}
	return slices.DeleteFunc(events, func(e Event) bool {
		return !uids[e.Object.GetUID()] && !namespaces[e.Object.GetNamespace()]
	})
}

// providers returns all clusters except the consumer, sorted.
func (h *History) providers() []string {
	var names []string
	for _, e := range h.Events {
		if e.Cluster != Consumer && !slices.Contains(names, e.Cluster) {
			names = append(names, e.Cluster)
		}
	}
	slices.Sort(names)
	return names
}

// marked reports whether an object carries the lane's mark.
func (h *History) marked(obj *unstructured.Unstructured) bool {
	labels := obj.GetLabels()
	return labels[v1alpha1.LabelManagedBy] == v1alpha1.ManagedBySpillway && labels[v1alpha1.LabelOrigin] == h.Origin
}

func isNamespace(obj *unstructured.Unstructured) bool { return obj.GetKind() == "Namespace" }

func localUID(obj *unstructured.Unstructured) types.UID {
	return types.UID(obj.GetAnnotations()[v1alpha1.AnnotationLocalUID])
}

func phase(obj *unstructured.Unstructured) corev1.PodPhase {
	phase, _, _ := unstructured.NestedString(obj.Object, "status", "phase")
	return corev1.PodPhase(phase)
}

func terminal(obj *unstructured.Unstructured) bool {
	return phase(obj) == corev1.PodSucceeded || phase(obj) == corev1.PodFailed
}

// title returns how sentences name an object.
func title(obj *unstructured.Unstructured) string {
	name := obj.GetName()
	if obj.GetNamespace() != "" {
		name = obj.GetNamespace() + "/" + name
	}
	return obj.GetKind() + " " + name
}
