// Package classes knows which classes that its ClusterBinding maps to exist in a provider, during one
// connection.
//
// # How it works
//
// A kind of classes is listed and watched while the binding maps to a class of that kind. A Reflector does
// that. Its store keeps only the classes that the binding maps to, and only what others need of them. Classes
// do not carry Spillway's mark, so all classes of the kind arrive.
//
// # What it trades away
//
// Adding a class of a kind to spec.classes lists that kind again. After a refused list, the Reflector asks
// again, more and more rarely, in the end about twice a minute.
package classes

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/gather"
)

// Classes has the classes of one connection. A nil one knows nothing.
type Classes struct {
	config     *rest.Config
	httpClient *http.Client
	debouncer  *gather.Debouncer

	mu        sync.Mutex
	watched   map[v1alpha1.ClassKind]*watched
	all       *connection.Classes // What the followers last got.
	askedAnew bool                // Asked again since then: the followers are called even if the answer is the same.
	followers []func()
}

// New returns the Classes of a new connection. Nothing is watched before Want.
func New(config *rest.Config, httpClient *http.Client, with clock.WithDelayedExecution) *Classes {
	c := &Classes{config: config, httpClient: httpClient, watched: map[v1alpha1.ClassKind]*watched{}}
	c.debouncer = gather.New(with, c.notify)
	return c
}

// Want asks the provider for exactly the classes that these mappings name, until ctx ends. It does not wait for
// an answer.
func (c *Classes) Want(ctx context.Context, mapped []v1alpha1.ClassMapping) {
	if c == nil {
		return
	}
	names := map[v1alpha1.ClassKind]sets.Set[string]{}
	for _, m := range mapped {
		if _, is := resources[m.Kind]; is {
			if names[m.Kind] == nil {
				names[m.Kind] = sets.New[string]()
			}
			names[m.Kind].Insert(m.RemoteName)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for kind, w := range c.watched {
		if !w.names.Equal(names[kind]) {
			w.stop()
			delete(c.watched, kind)
			c.askedAnew = true
			c.begin()
		}
	}
	for kind, of := range names {
		if c.watched[kind] != nil {
			continue
		}
		w := &watched{of: c, kind: kind, names: of, found: map[string]connection.Class{}}
		if err := w.start(ctx, resources[kind]); err != nil {
			connection.End(ctx, fmt.Errorf("asking for the %ses: %w", kind, err))
			return
		}
		c.watched[kind] = w
	}
}

// Has reports whether the provider has a class.
func (c *Classes) Has(kind v1alpha1.ClassKind, name string) field.Presence {
	if _, is := resources[kind]; c == nil || !is {
		return field.ClassUnknown
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.watched[kind]; w != nil {
		return w.class(name).Presence
	}
	return field.ClassUnread // It will be read: the binding has just changed.
}

// All returns what the followers last got.
func (c *Classes) All() *connection.Classes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

// Follow calls the follower a moment after the provider's answer has changed, until ctx ends.
func (c *Classes) Follow(ctx context.Context, follower func()) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.followers = append(c.followers, func() {
		if ctx.Err() == nil {
			follower()
		}
	})
}

// notifyInterval is the time between two changes that followers get. Each change enqueues all objects, and a
// provider may change its classes as often as it likes.
const notifyInterval = 2 * time.Second

// begin calls the followers a moment after the first answer. The lock must be held.
func (c *Classes) begin() {
	if c.all == nil {
		c.debouncer.Trigger()
	} else {
		c.debouncer.TriggerAfter(notifyInterval)
	}
}

// notify calls the followers if anything has changed.
func (c *Classes) notify() {
	c.mu.Lock()
	all := connection.Classes{}
	for _, w := range c.watched {
		for name := range w.names {
			all = append(all, w.class(name))
		}
	}
	slices.SortFunc(all, func(a, b connection.Class) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	if c.all != nil && !c.askedAnew && equality.Semantic.DeepEqual(*c.all, all) {
		c.mu.Unlock()
		return
	}
	c.all, c.askedAnew = &all, false
	followers := slices.Clone(c.followers)
	c.mu.Unlock()
	for _, follower := range followers {
		follower()
	}
}

// watched is a kind that is watched. It is the store of a Reflector.
type watched struct {
	of    *Classes
	kind  v1alpha1.ClassKind
	names sets.Set[string]
	stop  context.CancelFunc

	// Guarded by the lock of Classes:
	answered   bool
	unreadable bool // The last answer was that the manager may not read the kind.
	found      map[string]connection.Class
}

var _ toolscache.ReflectorStore = &watched{}

// start begins the watch. It ends with ctx, or by stop.
func (w *watched) start(ctx context.Context, resource classResource) error {
	from, err := resource.client(w.of.config, w.of.httpClient)
	if err != nil {
		return err
	}
	ctx, w.stop = context.WithCancel(ctx)
	silent := logr.Discard() // The Reflector would log each refusal, again and again.
	reflector := toolscache.NewReflectorWithOptions(&classListWatch{from, w.failed}, resource.object, w, toolscache.ReflectorOptions{Name: string(w.kind), Logger: &silent})
	go reflector.RunWithContext(log.IntoContext(ctx, silent))
	return nil
}

// class returns what is known of one of the names. The lock of Classes must be held.
func (w *watched) class(name string) connection.Class {
	class, there := w.found[name]
	if !there {
		class = connection.Class{Kind: w.kind, Name: name}
	}
	switch {
	case !w.answered || !w.names.Has(name):
		class.Presence = field.ClassUnread
	case w.unreadable:
		class.Presence = field.ClassUnknown
	case there:
		class.Presence = field.ClassThere
	default:
		class.Presence = field.ClassMissing
	}
	return class
}

// change notes an answer, and has the followers called. An answer after stop changes nothing that they see:
// notify reads c.watched.
func (w *watched) change(change func()) error {
	w.of.mu.Lock()
	defer w.of.mu.Unlock()
	change()
	w.of.begin()
	return nil
}

// put keeps a class that the binding maps to. The lock of Classes must be held.
func (w *watched) put(obj any) {
	object, ok := obj.(client.Object)
	if !ok || !w.names.Has(object.GetName()) {
		return
	}
	class := connection.Class{Kind: w.kind, Name: object.GetName()}
	switch object := object.(type) {
	case *schedulingv1.PriorityClass:
		class.Value = object.Value
	case *nodev1.RuntimeClass:
		class.Overhead = ptr.Deref(object.Overhead, nodev1.Overhead{}).PodFixed
	case *storagev1.StorageClass:
		class.Storage = field.StorageOf(object)
	}
	w.found[class.Name] = class
}

// Add implements ReflectorStore.
func (w *watched) Add(obj any) error { return w.change(func() { w.put(obj) }) }

// Update implements ReflectorStore.
func (w *watched) Update(obj any) error { return w.Add(obj) }

// Delete implements ReflectorStore.
func (w *watched) Delete(obj any) error {
	object, ok := obj.(client.Object)
	if !ok {
		return nil
	}
	return w.change(func() { delete(w.found, object.GetName()) })
}

// Replace implements ReflectorStore.
func (w *watched) Replace(all []any, _ string) error {
	return w.change(func() {
		w.answered, w.unreadable, w.found = true, false, map[string]connection.Class{}
		for _, obj := range all {
			w.put(obj)
		}
	})
}

// Resync implements ReflectorStore.
func (*watched) Resync() error { return nil }

// failed notes that a list failed. If the kind may not be read, or does not exist, that is an answer. So is an
// error of the API server, if there was no answer before. After other errors, an answer comes when the
// Reflector asks again, or the connection ends.
func (w *watched) failed(err error) {
	broken := apierrors.IsInternalError(err)
	if broken || apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		_ = w.change(func() { w.answered, w.unreadable = true, w.unreadable || !broken || !w.answered })
	}
}
