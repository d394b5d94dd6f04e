package views

import (
	"context"
	"errors"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/provider/rights"
)

// extensions are the kinds that the consumer may not serve, because a CustomResourceDefinition defines them.
// They are listed by Go type. An informer asks for such a kind until the consumer serves it, after a while
// about three times a minute.
type extensions map[reflect.Type]extension

type extension struct {
	gvk  schema.GroupVersionKind
	list runtime.Object // Empty.
}

func extensionsOf(o Options) (extensions, error) {
	all := extensions{}
	for _, kind := range o.ClusterWide {
		if !kind.Extension {
			continue
		}
		gvk, list, err := informer.KindOf(kind.Object, o.Scheme)
		if err != nil {
			return nil, err
		}
		all[reflect.TypeOf(kind.Object)] = extension{gvk, list}
	}
	return all, nil
}

// mapper resolves extensions without a request to the consumer, and all other kinds through others.
func (e extensions) mapper(others meta.RESTMapper) meta.RESTMapper {
	if len(e) == 0 {
		return others
	}
	known := meta.NewDefaultRESTMapper(nil)
	for _, of := range e {
		known.Add(of.gvk, meta.RESTScopeNamespace)
	}
	return meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{known, others}}
}

// informers returns the function that creates the shared cache's informers. Those of extensions note in served
// whether the consumer serves the kind.
func (e extensions) informers(served *rights.Rights) informer.NewFunc {
	return func(from toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
		if of, is := e[reflect.TypeOf(object)]; is {
			resource, _ := meta.UnsafeGuessKindToResource(of.gvk)
			from = served.Watched(from, resource.Resource, of.list.DeepCopyObject)
		}
		return NewInformer(from, object, resync, indexers)
	}
}

// silently logs the errors of watches and undecodable objects. It does not log that a kind is not served,
// because served records that.
func silently(ctx context.Context, reflector *toolscache.Reflector, err error) {
	if missing := (rights.MissingError{}); !errors.As(err, &missing) || !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) {
		toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
	}
}
