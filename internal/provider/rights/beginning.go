package rights

import (
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// beginning is a watch that starts with all objects, and calls shown once it has passed them on. It sends the
// final bookmark first, so the reader has everything before shown runs.
type beginning struct {
	watch.Interface
	events  chan watch.Event
	stopped chan struct{}
	stop    sync.Once
}

func newBeginning(of watch.Interface, shown func()) *beginning {
	b := &beginning{Interface: of, events: make(chan watch.Event), stopped: make(chan struct{})}
	go b.run(shown)
	return b
}

func (b *beginning) run(shown func()) {
	defer close(b.events)
	for event := range b.Interface.ResultChan() {
		select {
		case b.events <- event:
		case <-b.stopped:
			return
		}
		if isShown(event) {
			shown()
		}
	}
}

// ResultChan implements watch.Interface.
func (b *beginning) ResultChan() <-chan watch.Event { return b.events }

// Stop implements watch.Interface.
func (b *beginning) Stop() {
	b.stop.Do(func() { close(b.stopped) })
	b.Interface.Stop()
}

// isShown reports whether an event is the bookmark after all initial objects.
func isShown(event watch.Event) bool {
	if event.Type != watch.Bookmark {
		return false
	}
	object, err := meta.Accessor(event.Object)
	return err == nil && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}
