// Package views caches the consumer's objects for each ClusterBinding.
//
// A View belongs to one binding. It holds the pods of the binding's virtual nodes. It also holds the
// ConfigMaps, Secrets, PersistentVolumeClaims and PersistentVolumes with the binding's label, because these
// are sent to its provider. For ConfigMaps and Secrets it holds a digest. The manager reads the content when
// it sends it, because anybody may label something large. Pods that are not offloaded are never in memory.
//
// All bindings share the SharedCache. It has the metadata of every object that may have to be sent later. It
// also has all objects of the kinds that are sent because of their namespace, such as Services. These are
// small, and have no label of the binding. One watch for each binding and namespace would be too many.
//
// The price is a watch of the consumer for each binding, and one more for each kind with a sent object
// (informer.Demand). In return, replicas of the manager can divide the bindings without sharing anything, and
// a restart costs one LIST for each kind and binding.
package views

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/rights"
)

// Options are what the views share.
type Options struct {
	// Config, HTTPClient, Scheme and Mapper are for the consumer.
	Config     *rest.Config
	HTTPClient *http.Client
	Scheme     *runtime.Scheme
	Mapper     meta.RESTMapper
	// Groups returns the virtual nodes of a ClusterBinding that have a group, by name. If it is nil, none has.
	Groups func(ctx context.Context, binding string) (map[string]field.Group, error)
	// Kinds are the kinds whose objects are held if they have a binding's label.
	Kinds []client.Object
	// Indexes are the indexes that every View has.
	Indexes []Index
	// ClusterWide are the kinds whose objects the SharedCache holds completely, with their indexes there.
	ClusterWide []Index
}

// Index is an index of a View's cache or of the SharedCache.
type Index struct {
	Object  client.Object
	Field   string
	Extract client.IndexerFunc
	// Extension reports that the consumer may not serve the kind.
	Extension bool
	// Trim removes from an object what the SharedCache need not hold; see kind.Kind.
	Trim func(obj any, oversized bool)
}

// Kind is a kind whose objects are held if they have a binding's label.
type Kind struct {
	// Object is an empty object, and Metadata is the type that the SharedCache requests.
	Object   client.Object
	Metadata *metav1.PartialObjectMetadata
	list     runtime.Object // An empty list of such objects.
}

// List returns an empty list of the kind's metadata.
func (k Kind) List() *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(k.Metadata.GroupVersionKind().GroupVersion().WithKind(k.Metadata.Kind + "List"))
	return list
}

// Views holds one View for each ClusterBinding.
type Views struct {
	// Kinds are those in the Options.
	Kinds []Kind
	// SharedCache holds the metadata of all objects of the Kinds, and the complete objects of the ClusterWide
	// kinds.
	SharedCache cache.Cache
	// Served knows which of the ClusterWide kinds the consumer does not serve, or does not let the manager read.
	// The SharedCache shows nothing, or something outdated, for them. So nothing is decided about them until
	// that changes.
	Served  *rights.Rights
	options Options

	opening sync.Mutex
	mu      sync.Mutex
	running context.Context // Set by Start; nil before.
	views   map[string]*View
}

var (
	_ manager.Runnable               = &Views{}
	_ manager.LeaderElectionRunnable = &Views{}
)

// View is the cache for one ClusterBinding.
type View struct {
	cache.Cache
	// ClusterID belongs to the binding, and Node is the name of its virtual node without a group.
	ClusterID, Node string

	nodes  *onNodes
	of     *Views
	cancel context.CancelFunc
}

// New returns Views without any View.
func New(ctx context.Context, o Options) (*Views, error) {
	v := &Views{options: o, views: map[string]*View{}}
	v.Served = rights.New(clock.RealClock{}, func() {
		log.FromContext(ctx).Info("kinds that CustomResourceDefinitions bring", "consumer", cmp.Or(v.Served.All().What, "serves all"))
	})
	for _, object := range o.Kinds {
		gvk, list, err := informer.KindOf(object, o.Scheme)
		if err != nil {
			return nil, err
		}
		metadata := &metav1.PartialObjectMetadata{}
		metadata.SetGroupVersionKind(gvk)
		v.Kinds = append(v.Kinds, Kind{object, metadata, list})
	}
	var err error
	v.SharedCache, err = newSharedCache(ctx, o, v.Kinds, v.Served)
	return v, err
}

// NeedLeaderElection is true, because only the active replica needs the memory.
func (*Views) NeedLeaderElection() bool { return true }

// Start runs the shared cache and the views until ctx ends.
func (v *Views) Start(ctx context.Context) error {
	for _, kind := range v.Kinds {
		if err := v.follow(ctx, kind); err != nil {
			return err
		}
	}
	v.mu.Lock()
	v.running = ctx
	for _, view := range v.views {
		view.start(ctx)
	}
	v.mu.Unlock()
	return v.SharedCache.Start(ctx)
}

// Open ensures that the ClusterBinding with that name has a View, of the virtual nodes that it has now. It never
// waits for the View, which fills in the background.
func (v *Views) Open(ctx context.Context, name, clusterID, node string) error {
	v.opening.Lock() // What was read first is also used first.
	defer v.opening.Unlock()
	var groups map[string]field.Group
	if v.options.Groups != nil {
		var err error
		if groups, err = v.options.Groups(ctx, name); err != nil {
			return err
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if view, ok := v.views[name]; ok {
		view.nodes.set(groups)
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err // The caller may have closed its View already, and nobody would close this one.
	}
	view, err := newView(ctx, v.options, clusterID, newOnNodes(node, groups))
	if err != nil {
		return fmt.Errorf("making the view of ClusterBinding %s: %w", name, err)
	}
	view.of = v
	v.views[name] = view
	if v.running != nil {
		view.start(v.running) //nolint:contextcheck // It outlives the call, and ends with the manager.
	}
	return nil
}

// Close ends the View with that name, if there is one.
func (v *Views) Close(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if view, ok := v.views[name]; ok {
		if view.cancel != nil {
			view.cancel()
		}
		delete(v.views, name)
	}
}

// Get returns the View of the ClusterBinding with that name, or nil. A read waits while the View is still
// filling.
func (v *Views) Get(name string) *View {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.views[name]
}

// Groups returns the groups of the binding's virtual nodes, by the name of the node. Nodes without a group may be
// missing. It is shared, and callers must not change it.
func (view *View) Groups() map[string]field.Group {
	if view == nil || view.nodes == nil {
		return nil // In tests of others.
	}
	return view.nodes.known()
}

// All returns the existing views, by the name of their ClusterBinding.
func (v *Views) All() map[string]*View {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.views)
}

// Each calls do for each object of a kind that the View holds. do must not change the object.
func (view *View) Each(ctx context.Context, kind Kind, do func(client.Object)) error {
	list, ok := kind.list.DeepCopyObject().(client.ObjectList)
	if !ok {
		return fmt.Errorf("%T is no list", kind.list)
	}
	if err := view.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		if obj, ok := item.(client.Object); ok {
			do(obj)
		}
		return nil
	})
}

func (view *View) start(ctx context.Context) {
	ctx, view.cancel = context.WithCancel(ctx)
	go func() {
		if err := view.Start(ctx); err != nil {
			log.FromContext(ctx).Error(err, "the view of a ClusterBinding has ended", "cluster", view.ClusterID)
		}
	}()
}
