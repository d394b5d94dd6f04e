package oracle

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	toolscache "k8s.io/client-go/tools/cache"
)

// behind is how often catchUp checks whether the watch shows the list.
const behind = 5 * time.Millisecond

// everything selects a list without a limit that is not older than the request.
var everything = metav1.ListOptions{}

// eye watches one resource of one cluster.
type eye struct {
	cluster      string
	resource     schema.GroupVersionResource
	client       dynamic.Interface
	registration toolscache.ResourceEventHandlerRegistration

	mu sync.Mutex
	// last has the last event of each object that exists.
	last map[types.UID]Event
	// ended has the objects whose deletion was seen.
	ended map[types.UID]bool
}

func newEye(cluster string, resource schema.GroupVersionResource, client dynamic.Interface) *eye {
	return &eye{cluster: cluster, resource: resource, client: client, last: map[types.UID]Event{}, ended: map[types.UID]bool{}}
}

// open sends each event to the ledger.
func (e *eye) open(informer toolscache.SharedIndexInformer, l *Ledger) error {
	err := informer.SetWatchErrorHandlerWithContext(func(ctx context.Context, _ *toolscache.Reflector, err error) {
		if ctx.Err() == nil {
			l.noteBroken(fmt.Errorf("watching %s of %s: %w", e.resource.Resource, e.cluster, err))
		}
	})
	if err == nil {
		e.registration, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { e.see(l, obj, false) },
			UpdateFunc: func(before, after any) {
				if version(before) != version(after) {
					e.see(l, after, false)
				}
			},
			DeleteFunc: func(obj any) {
				if last, unknown := obj.(toolscache.DeletedFinalStateUnknown); unknown {
					l.noteBroken(fmt.Errorf("the end of %s in %s was not seen", last.Key, e.cluster))
					obj = last.Obj
				}
				e.see(l, obj, true)
			},
		})
	}
	if err != nil {
		return fmt.Errorf("watching %s of %s: %w", e.resource.Resource, e.cluster, err)
	}
	return nil
}

func version(obj any) string {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.GetResourceVersion()
	}
	return ""
}

func (e *eye) see(l *Ledger, obj any, deleted bool) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		l.noteBroken(fmt.Errorf("%T came out of the watch of %s in %s", obj, e.resource.Resource, e.cluster))
		return
	}
	event := Event{Cluster: e.cluster, Object: u, Deleted: deleted}
	l.note(event) // Before catchUp can see it.
	e.remember(event)
}

func (e *eye) remember(event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	uid := event.Object.GetUID()
	if event.Deleted {
		delete(e.last, uid)
		e.ended[uid] = true
	} else {
		e.last[uid] = event
	}
}

// there returns the existing objects as events from before the run.
func (e *eye) there() []Event {
	e.mu.Lock()
	defer e.mu.Unlock()
	clear(e.ended)
	var events []Event
	for _, event := range e.last {
		if event.Before = true; relevant(event.Object) {
			events = append(events, event)
		}
	}
	return events
}

// catchUp lists the objects, and waits until the watch shows each in that version or a newer one. Concurrent
// writes do no harm.
func (e *eye) catchUp(ctx context.Context) error {
	list, err := e.client.Resource(e.resource).List(ctx, everything)
	if err != nil {
		return fmt.Errorf("listing %s of %s: %w", e.resource.Resource, e.cluster, err)
	}
	ticker := time.NewTicker(behind)
	defer ticker.Stop()
	for {
		missing := e.missing(list)
		if missing == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: the watch of %s in %s does not show %s", ErrGap, e.resource.Resource, e.cluster, missing)
		case <-ticker.C:
		}
	}
}

// missing returns an object of the list that the watch does not show, or one that it shows although it is
// gone.
func (e *eye) missing(list *unstructured.UnstructuredList) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	listed := map[types.UID]bool{}
	for i := range list.Items {
		item := &list.Items[i]
		listed[item.GetUID()] = true
		seen, ok := e.last[item.GetUID()]
		if e.ended[item.GetUID()] || (ok && seen.revision() >= (Event{Object: item}).revision()) {
			continue
		}
		return title(item)
	}
	of, err := strconv.ParseUint(list.GetResourceVersion(), 10, 64)
	for uid, seen := range e.last {
		if !listed[uid] && err == nil && seen.revision() <= of {
			return "the end of " + title(seen.Object)
		}
	}
	return ""
}
