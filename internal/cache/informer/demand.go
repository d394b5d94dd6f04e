package informer

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Demand is a cache that watches some kinds only while they are needed: a watch costs six goroutines, and
// most bindings use few kinds.
//
// # How it works
//
// At first none of these kinds is watched. Or all are (Fill), and Settle stops the informers of kinds without
// objects. Need starts the informer of a kind, and never waits: it calls a function once the kind's objects
// can be read.
//
// Until a kind can be read it seems to have no objects, and its handlers are not called. Then they are called
// with each existing object, like all handlers that are added late (Shared). So readers and followers need
// not know whether a kind is watched. Only writers must call Need first, because they must see what they have
// written.
//
// So a kind may be unwatched only as long as it has no objects, as far as others can tell. The user of a
// Demand decides how that is known.
type Demand struct {
	cache.Cache
	options DemandOptions
	kinds   map[reflect.Type]*demanded // By the type of an object, and of a list.

	mu      sync.Mutex // Never held while a handler, or a function of the options, is called.
	running context.Context
	settled bool
}

// DemandOptions are the options of a Demand.
type DemandOptions struct {
	// Kinds are watched on demand. All others are watched as the cache itself does it.
	Kinds []client.Object
	// Scheme has these kinds and their lists.
	Scheme *runtime.Scheme
	// First, if set, is the first handler of each of their informers. It is called also before a
	// kind can be read.
	First toolscache.ResourceEventHandler
	// Opening, if set, is called when the informer of a kind starts after Settle. It returns read,
	// which is called when the informer has all objects, before anybody else can read them.
	Opening func(kind client.Object) (read func())
}

// demanded is a kind. As an informer it outlives the informers that watch the kind.
type demanded struct {
	followers
	of       *Demand
	object   client.Object
	readable atomic.Bool
	by       toolscache.SharedIndexInformer // The informer whose objects the followers know; under their lock.

	// With the lock of the Demand:
	indexes []func(context.Context) error
	open    *opened // Nil: it is not watched.
	needed  bool
}

// opened is an informer that watches a kind.
type opened struct {
	informer toolscache.SharedIndexInformer
	late     bool           // It started after Settle.
	then     map[any]func() // By who waits.
	done     chan struct{}  // Closed when the kind can be read, and the followers have been called.
}

var (
	_ cache.Cache    = &Demand{}
	_ cache.Informer = &demanded{}
)

// OnDemand makes a cache that has not been started watch some kinds only once they are needed. Its informers
// must be shared informers, as in caches without a list of namespaces.
func OnDemand(of cache.Cache, o DemandOptions) (*Demand, error) {
	d := &Demand{Cache: of, options: o, kinds: map[reflect.Type]*demanded{}}
	for _, object := range o.Kinds {
		_, list, err := KindOf(object, o.Scheme)
		if err != nil {
			return nil, err
		}
		kind := &demanded{of: d, object: object}
		kind.begin = kind.beginning
		d.kinds[reflect.TypeOf(object)], d.kinds[reflect.TypeOf(list)] = kind, kind
	}
	return d, nil
}

// KindOf returns the kind of an object, and a new list of such objects.
func KindOf(object client.Object, scheme *runtime.Scheme) (kind schema.GroupVersionKind, list runtime.Object, err error) {
	if kind, err = apiutil.GVKForObject(object, scheme); err != nil {
		return kind, nil, fmt.Errorf("the kind of %T: %w", object, err)
	}
	if list, err = scheme.New(kind.GroupVersion().WithKind(kind.Kind + "List")); err != nil {
		return kind, nil, fmt.Errorf("the list of %s: %w", kind.Kind, err)
	}
	return kind, list, nil
}

// Need is Demand.Need for any cache. Other caches than a Demand watch all kinds.
func Need(ctx context.Context, in cache.Cache, kind client.Object, who any, then func()) (readable bool, err error) {
	if demand, ok := in.(interface {
		Need(ctx context.Context, kind client.Object, who any, then func()) (bool, error)
	}); ok {
		return demand.Need(ctx, kind, who, then)
	}
	return true, nil
}

// Need makes the Demand watch a kind for as long as the cache runs, and reports whether its objects can be
// read. If not yet, it calls then once they can be, unless the cache ends before. After several calls with
// the same who, only the last one's then is called. Need never waits.
func (d *Demand) Need(ctx context.Context, kind client.Object, who any, then func()) (readable bool, err error) {
	k := d.kinds[reflect.TypeOf(kind)]
	if k == nil {
		return true, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin(ctx, k); err != nil {
		return false, err
	}
	k.needed = true
	if k.readable.Load() {
		return true, nil
	}
	if then != nil {
		k.open.then[who] = then
	}
	return false, nil
}

// Fill makes the Demand watch all kinds, until Settle stops some.
func (d *Demand) Fill(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range d.kinds {
		if err := d.begin(ctx, k); err != nil {
			return err
		}
	}
	return nil
}

// begin starts the informer of a kind that is not watched. The caller holds the lock.
func (d *Demand) begin(ctx context.Context, k *demanded) error {
	if k.open != nil {
		return nil
	}
	informer, err := d.informer(ctx, k)
	if err != nil {
		return fmt.Errorf("watching %T: %w", k.object, err)
	}
	k.open = &opened{informer: informer, late: d.settled, then: map[any]func(){}, done: make(chan struct{})}
	if d.running != nil {
		go d.await(d.running, k, k.open) //nolint:contextcheck // It outlives the call, and ends with the cache.
	}
	return nil
}

// informer starts the informer of a kind, with its indexes and handlers.
func (d *Demand) informer(ctx context.Context, k *demanded) (toolscache.SharedIndexInformer, error) {
	found, err := d.Cache.GetInformer(ctx, k.object, cache.BlockUntilSynced(false))
	if err != nil {
		return nil, err
	}
	informer, ok := found.(toolscache.SharedIndexInformer)
	if !ok {
		return nil, fmt.Errorf("%T is no shared informer", found)
	}
	for _, index := range k.indexes {
		if err := index(ctx); err != nil {
			return nil, err
		}
	}
	if d.options.First != nil {
		if _, err := informer.AddEventHandler(d.options.First); err != nil {
			return nil, err
		}
	}
	_, err = informer.AddEventHandler(handlerBy(k.each))
	return informer, err
}

// await makes a kind readable when its informer has read all objects.
func (d *Demand) await(ctx context.Context, k *demanded, o *opened) {
	read := func() {}
	if o.late && d.options.Opening != nil {
		read = d.options.Opening(k.object)
	}
	select {
	case <-o.informer.HasSyncedChecker().Done():
	case <-ctx.Done():
		return
	}
	read()
	k.readable.Store(true)
	k.notifyAll(o.informer)
	close(o.done)
	d.mu.Lock()
	then := o.then
	o.then = nil
	d.mu.Unlock()
	for _, call := range then {
		call()
	}
}

// Settle stops the informers of kinds that can be read, have no objects, and were not needed yet, unless keep
// returns true.
func (d *Demand) Settle(ctx context.Context, keep func(kind client.Object) bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settled = true
	for _, k := range d.kinds {
		if k.needed || !k.readable.Load() || len(k.open.informer.GetStore().ListKeys()) > 0 || keep(k.object) {
			continue
		}
		if err := d.Cache.RemoveInformer(ctx, k.object); err != nil {
			return fmt.Errorf("to watch %T no longer: %w", k.object, err)
		}
		k.readable.Store(false)
		k.notifyAll(nil)
		k.open = nil
	}
	return nil
}

// Watched returns the kinds that are watched.
func (d *Demand) Watched() []client.Object {
	d.mu.Lock()
	defer d.mu.Unlock()
	var watched []client.Object
	for _, object := range d.options.Kinds {
		if d.kinds[reflect.TypeOf(object)].open != nil {
			watched = append(watched, object)
		}
	}
	return watched
}

// Start implements cache.Cache.
func (d *Demand) Start(ctx context.Context) error {
	d.mu.Lock()
	d.running = ctx
	for _, object := range d.options.Kinds {
		if k := d.kinds[reflect.TypeOf(object)]; k.open != nil {
			go d.await(ctx, k, k.open)
		}
	}
	d.mu.Unlock()
	return d.Cache.Start(ctx)
}

// WaitForCacheSync implements cache.Cache: it waits for the kinds that are watched.
func (d *Demand) WaitForCacheSync(ctx context.Context) bool {
	if !d.Cache.WaitForCacheSync(ctx) {
		return false
	}
	for _, done := range d.beginning() {
		select {
		case <-done:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (d *Demand) beginning() []<-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []<-chan struct{}
	for _, k := range d.kinds {
		if k.open != nil {
			all = append(all, k.open.done)
		}
	}
	return all
}

// Get implements client.Reader.
func (d *Demand) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	if k := d.kinds[reflect.TypeOf(into)]; k != nil && !k.readable.Load() {
		return apierrors.NewNotFound(schema.GroupResource{Resource: fmt.Sprintf("%T", into)}, key.Name)
	}
	return d.Cache.Get(ctx, key, into, options...)
}

// List implements client.Reader.
func (d *Demand) List(ctx context.Context, into client.ObjectList, options ...client.ListOption) error {
	if k := d.kinds[reflect.TypeOf(into)]; k != nil && !k.readable.Load() {
		return meta.SetList(into, nil)
	}
	return d.Cache.List(ctx, into, options...)
}

// GetInformer implements cache.Cache. It does not start the kinds on demand, and does not wait for them.
func (d *Demand) GetInformer(ctx context.Context, kind client.Object, options ...cache.InformerGetOption) (cache.Informer, error) {
	if k := d.kinds[reflect.TypeOf(kind)]; k != nil {
		return k, nil
	}
	return d.Cache.GetInformer(ctx, kind, options...)
}

// IndexField implements cache.Cache. It must be called before the kind is needed.
func (d *Demand) IndexField(ctx context.Context, kind client.Object, field string, extract client.IndexerFunc) error {
	k := d.kinds[reflect.TypeOf(kind)]
	if k == nil {
		return d.Cache.IndexField(ctx, kind, field, extract)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if k.open != nil {
		return fmt.Errorf("%T is watched already", kind)
	}
	k.indexes = append(k.indexes, func(ctx context.Context) error { return d.Cache.IndexField(ctx, kind, field, extract) })
	return nil
}
