package integration

import (
	"slices"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
)

// history records the successive states of an object, without repetitions. It uses a watch, because reads
// would miss brief states.
type history struct {
	// ended is closed when the object is deleted.
	ended chan struct{}

	mu   sync.Mutex
	seen []string
}

// drainedOf records the steps of a binding's deletion.
func (c *controlPlane) drainedOf(cb *v1alpha1.ClusterBinding) *history {
	GinkgoHelper()
	return c.record(&v1alpha1.ClusterBindingList{}, cb, func(object client.Object) string {
		return conditions.Reason(object.(*v1alpha1.ClusterBinding).Status.Conditions, v1alpha1.BindingDrained)
	})
}

// phasesOf records the phase and reason of a NamespaceOffloading.
func (c *controlPlane) phasesOf(namespace string) *history {
	GinkgoHelper()
	return c.record(&v1alpha1.NamespaceOffloadingList{}, newOffloading(namespace, nil), func(object client.Object) string {
		status := object.(*v1alpha1.NamespaceOffloading).Status
		return string(status.OffloadingPhase) + "/" + conditions.Reason(status.Conditions, v1alpha1.OffloadingReady)
	})
}

func (c *controlPlane) record(list client.ObjectList, object client.Object, read func(client.Object) string) *history {
	GinkgoHelper()
	h := &history{ended: make(chan struct{})}
	watching, err := c.watcher.Watch(ctx, list, client.InNamespace(object.GetNamespace()), client.MatchingFields{"metadata.name": object.GetName()})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(watching.Stop)
	go func() {
		for event := range watching.ResultChan() {
			if event.Type == watch.Deleted {
				close(h.ended)
				return
			}
			if current, ok := event.Object.(client.Object); ok {
				h.note(read(current))
			}
		}
	}()
	return h
}

func (h *history) note(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if what != "" && (len(h.seen) == 0 || h.seen[len(h.seen)-1] != what) {
		h.seen = append(h.seen, what)
	}
}

// soFar returns how many states have been recorded.
func (h *history) soFar() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.seen)
}

// all waits until the object is deleted, and returns all recorded states. A watch shows the deletion later
// than a read.
func (h *history) all() []string {
	GinkgoHelper()
	Eventually(h.ended).Should(BeClosed(), "the watch should tell that the object has gone")
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.seen)
}
