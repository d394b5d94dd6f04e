package views

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/provider/rights"
)

// newView creates the cache of one binding, which watches the pods of its virtual nodes. Readers share the
// cached objects and must not change them. Copying a pod for each read would be the largest part of the work.
func newView(ctx context.Context, o Options, clusterID string, nodes *onNodes) (*View, error) {
	sent, err := labels.NewRequirement(v1alpha1.LabelSyncedTo+clusterID, selection.Exists, nil)
	if err != nil {
		return nil, err
	}
	of, err := cache.New(o.Config, cache.Options{
		HTTPClient: o.HTTPClient, Scheme: o.Scheme, Mapper: o.Mapper, NewInformer: nodes.informer,
		DefaultLabelSelector:         labels.NewSelector().Add(*sent),
		ByObject:                     map[client.Object]cache.ByObject{&corev1.Pod{}: {Label: labels.Everything()}}, // See onNodes.
		DefaultTransform:             func(obj any) (any, error) { return Trim(obj, nil), nil },
		DefaultUnsafeDisableDeepCopy: ptr.To(true),
		ReaderFailOnMissingInformer:  true, // Otherwise a read would start an informer and wait for it.
	})
	if err != nil {
		return nil, err
	}
	view, err := informer.OnDemand(of, informer.DemandOptions{Kinds: o.Kinds, Scheme: o.Scheme})
	if err != nil {
		return nil, err
	}
	if _, err := view.GetInformer(ctx, &corev1.Pod{}, cache.BlockUntilSynced(false)); err != nil {
		return nil, fmt.Errorf("watching pods: %w", err)
	}
	if err := addIndexes(ctx, view, o.Indexes); err != nil {
		return nil, err
	}
	return &View{Cache: view, ClusterID: clusterID, Node: nodes.node, nodes: nodes}, nil
}

func addIndexes(ctx context.Context, to cache.Cache, all []Index) error {
	for _, index := range all {
		if err := to.IndexField(ctx, index.Object, index.Field, index.Extract); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", index.Object, index.Field, err)
		}
	}
	return nil
}

// neverSent are the types of Secrets that let their holder act under an identity of the consumer. The manager
// does not even read them.
var neverSent = fields.AndSelectors(fields.OneTermNotEqualSelector("type", string(corev1.SecretTypeServiceAccountToken)),
	fields.OneTermNotEqualSelector("type", string(corev1.SecretTypeBootstrapToken)))

// newSharedCache creates the cache that all bindings share.
func newSharedCache(ctx context.Context, o Options, kinds []Kind, served *rights.Rights) (cache.Cache, error) {
	objects := map[client.Object]cache.ByObject{}
	for _, kind := range kinds {
		var config cache.ByObject
		if _, isSecret := kind.Object.(*corev1.Secret); isSecret {
			config.Field = neverSent
		}
		objects[kind.Metadata] = config
	}
	for _, kind := range o.ClusterWide {
		objects[kind.Object] = cache.ByObject{Transform: func(obj any) (any, error) { return Trim(obj, kind.Trim), nil }}
	}
	extensions, err := extensionsOf(o)
	if err != nil {
		return nil, err
	}
	catalogue, err := cache.New(o.Config, cache.Options{
		HTTPClient: o.HTTPClient, Scheme: o.Scheme, Mapper: extensions.mapper(o.Mapper), ByObject: objects,
		NewInformer:                  informer.Shared(extensions.informers(served)),
		DefaultTransform:             trimMetadata,
		DefaultUnsafeDisableDeepCopy: ptr.To(true),
		DefaultWatchErrorHandler:     silently,
	})
	if err != nil {
		return nil, fmt.Errorf("making the catalogue: %w", err)
	}
	for kind := range objects {
		if _, err := catalogue.GetInformer(ctx, kind, cache.BlockUntilSynced(false)); err != nil {
			return nil, fmt.Errorf("watching %T for the catalogue: %w", kind, err)
		}
	}
	for _, kind := range kinds {
		if err := catalogue.IndexField(ctx, kind.Metadata, fieldProtected, func(obj client.Object) []string { return decide.MarkedFor(obj) }); err != nil {
			return nil, fmt.Errorf("indexing the metadata of %T: %w", kind.Object, err)
		}
	}
	return catalogue, addIndexes(ctx, catalogue, o.ClusterWide)
}
