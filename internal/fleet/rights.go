package fleet

import (
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/spillway-io/spillway/internal/rights"
)

// ResourceOf returns the resource of a kind of the core API group, as rights name it.
func ResourceOf(object client.Object) string {
	gvk, err := apiutil.GVKForObject(object, scheme.Scheme)
	if err != nil {
		return ""
	}
	return resourceOf(gvk)
}

func resourceOf(gvk schema.GroupVersionKind) string {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return plural.Resource
}

// informers makes those of a session. Reads of optional kinds may be refused.
func informers(kinds []Kind, missing *rights.Rights) newInformer {
	optional := map[string]bool{}
	for _, kind := range kinds {
		optional[ResourceOf(kind.Object)] = kind.Optional
	}
	return func(from toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		gvk, err := apiutil.GVKForObject(object, scheme.Scheme)
		if resource := resourceOf(gvk); err == nil && optional[resource] {
			from = missing.Watched(from, resource, func() runtime.Object { return emptyList(gvk) })
		}
		return toolscache.NewSharedIndexInformer(from, object, resync, indexers)
	}
}

// newInformer is how a cache makes its informers.
type newInformer = func(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer

func emptyList(gvk schema.GroupVersionKind) runtime.Object {
	gvk.Kind += "List"
	list, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil // Each watched kind has one.
	}
	return list
}
