package release

import (
	"context"
	"net/netip"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/controllers/toprovider/ingress"
	"github.com/spillway-io/spillway/controllers/toprovider/route"
	"github.com/spillway-io/spillway/controllers/toprovider/service"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/engine/address"
	"github.com/spillway-io/spillway/internal/engine/decide"
	enginekind "github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/precondition"
)

// kind is a kind of objects that have something for some providers.
type kind struct {
	name   string
	object client.Object
	list   func() client.ObjectList
	// providers returns the clusterIDs of these providers.
	providers func(object metav1.Object) []string
	// stays reports whether an object keeps what it has for a provider.
	stays func(o observed, clusterID string, object metav1.Object) bool
	// without returns a copy of an object without it, and write writes that copy.
	without func(object client.Object, clusterID string) client.Object
	write   func(ctx context.Context, c client.Client, before, after client.Object) error
}

// New returns the reconciler of the protected kinds, and of the kinds that providers report on.
func New(c client.Client, v *views.Views) *Reconciler {
	r := &Reconciler{client: c, cache: v.SharedCache, reported: []*kind{
		addressed(service.Kind()), addressed(ingress.Kind()), routes(route.HTTP()), routes(route.GRPC()),
	}}
	for _, of := range v.Kinds {
		r.protected = append(r.protected, protected(of))
	}
	return r
}

func protected(of views.Kind) *kind {
	return &kind{
		name: of.Metadata.Kind, object: of.Metadata, list: func() client.ObjectList { return of.List() }, providers: protectors, stays: observed.mayProtect,
		without: func(object client.Object, clusterID string) client.Object {
			object = object.DeepCopyObject().(client.Object)
			decide.Unprotect(object, clusterID)
			return object
		},
		write: func(ctx context.Context, c client.Client, before, after client.Object) error {
			return c.Patch(ctx, after, precondition.LockedKeeping(before))
		},
	}
}

func addressed[T address.Addressed](of enginekind.Kind[T]) *kind {
	return reported(of, addressReporters, func(object T, clusterID string) T {
		return address.WithAddresses(object, clusterID, nil, func(netip.Addr) bool { return false }) // Connections check what stays.
	})
}

func routes[T route.Route](of enginekind.Kind[T]) *kind {
	return reported(of, func(object metav1.Object) []string { return route.RouteReporters(object) }, func(object T, clusterID string) T {
		return route.ReportRoute(object, nil, clusterID, nil, time.Time{})
	})
}

func reported[T client.Object](of enginekind.Kind[T], reporters func(metav1.Object) []string, without func(T, string) T) *kind {
	return &kind{
		name: of.Title(), object: of.New(), list: func() client.ObjectList { return of.NewList() }, providers: reporters, stays: observed.mayReport,
		without: func(object client.Object, clusterID string) client.Object { return without(object.(T), clusterID) },
		write: func(ctx context.Context, c client.Client, before, after client.Object) error {
			return c.Status().Patch(ctx, after, precondition.Locked(before))
		},
	}
}

// release returns the object, or a copy without what it has for providers and does not keep.
func (k *kind) release(object client.Object, o observed) client.Object {
	for _, clusterID := range k.providers(object) {
		if !k.stays(o, clusterID, object) {
			object = k.without(object, clusterID)
		}
	}
	return object
}

// get returns an object. It shares its memory with the cache.
func (k *kind) get(ctx context.Context, from cache.Cache, key types.NamespacedName) (client.Object, error) {
	object := k.object.DeepCopyObject().(client.Object)
	err := from.Get(ctx, key, object, client.UnsafeDisableDeepCopy)
	object.GetObjectKind().SetGroupVersionKind(k.object.GetObjectKind().GroupVersionKind()) // The cache of metadata has none.
	return object, err
}
