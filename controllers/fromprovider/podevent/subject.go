package podevent

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/engine"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// eventKind is a kind of objects that warnings are about.
type eventKind struct {
	engine.Registration
	apiVersion, kind string // Those of the API, in the consumer and in events.
}

// eventKindsOf are the kinds that are sent and live in namespaces, by their names in the API.
// Events about others are in the namespace default, which is none of ours.
func eventKindsOf(kinds []engine.Registration, scheme *runtime.Scheme) (map[string]*eventKind, error) {
	all := map[string]*eventKind{}
	for _, k := range kinds {
		if k.Scope != kind.ScopeNamespaced {
			continue
		}
		gvk, err := apiutil.GVKForObject(k.New(), scheme)
		if err != nil {
			return nil, fmt.Errorf("the kind of a %s: %w", k.Name, err)
		}
		of := &eventKind{Registration: k}
		of.apiVersion, of.kind = gvk.ToAPIVersionAndKind()
		all[of.kind] = of
	}
	return all, nil
}

// target is an object of the provider.
func (s *eventKind) target(remote client.Object) podevent.Target {
	return podevent.Target{Kind: s.kind, NamespacedName: client.ObjectKeyFromObject(remote), UID: remote.GetUID()}
}

// localsOf is the cache of the consumer's objects of a kind.
func (c *reconciler) localsOf(of *eventKind) cache.Cache {
	if of.Selection.ClusterWide() {
		return c.ClusterWide
	}
	return c.View
}

// remoteOf is the provider's object if it exists and is ours, or nil.
func (c *reconciler) remoteOf(ctx context.Context, target podevent.Target) (client.Object, error) {
	remote := c.kinds[target.Kind].New()
	if err := c.remote.Get(ctx, target.NamespacedName, remote); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if remote.GetUID() != target.UID || !c.Mark.IsOn(remote) {
		return nil, nil
	}
	return remote, nil
}

// localOf is the object that an object of the provider represents, or nil. It is one of
// those that the provider was given: the view has no others. The cache of what is sent with
// its namespace has all there are, so there the copy has to be where that object's is.
func (c *reconciler) localOf(ctx context.Context, target podevent.Target) (*corev1.ObjectReference, error) {
	remote, err := c.remoteOf(ctx, target)
	if err != nil || remote == nil {
		return nil, err
	}
	says, of := provenance.LocalOf(remote), c.kinds[target.Kind]
	key, local := types.NamespacedName{Namespace: says.Namespace, Name: says.Name}, of.New()
	if of.Selection.ClusterWide() && !c.IsCopy(of.Registration, key, target.NamespacedName) {
		return nil, nil
	}
	if err := c.localsOf(of).Get(ctx, key, local); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if local.GetUID() != says.UID {
		return nil, nil
	}
	return &corev1.ObjectReference{APIVersion: of.apiVersion, Kind: of.kind, Namespace: key.Namespace, Name: key.Name, UID: says.UID}, nil
}
