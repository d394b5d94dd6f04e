package fleet

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/connection"
	"github.com/spillway-io/spillway/internal/fleet/transport"
	"github.com/spillway-io/spillway/internal/rights"
	"github.com/spillway-io/spillway/internal/translate"
)

// limitsEvery is the time between two looks at changed limits: each starts passes over
// all pods, and a provider may change its limits as often as it likes.
const limitsEvery = 2 * time.Second

// limitsResource is how a binding's condition Limited calls the limits if they were read
// once and no longer may be: then the last known ones still count.
const limitsResource = "limits"

// limits follows what a provider allows during a session: by a watch of the one
// ConfigMap, in its own cache, since it does not carry our mark.
type limits struct {
	cache cache.Cache
	clock clock.Clock
	news  chan struct{} // Something may have changed.
	known chan struct{} // Closed once anything is known.

	mu        sync.Mutex
	refused   error // The answer to the last watch, until one succeeds.
	now       *translate.Limits
	followers []func(*translate.Limits)
}

// FollowLimits calls follow with what the provider of a connection allows, at once, and
// on every change while the connection lasts. A cluster that the fleet has not connected
// allows nothing.
func FollowLimits(cl cluster.Cluster, follow func(*translate.Limits)) {
	if p, ok := cl.(*connectedCluster); ok {
		p.limits.follow(follow)
	} else {
		follow(translate.MissingLimits())
	}
}

// LimitsOf returns what the provider of a connection allows now; nothing if the fleet has
// not connected it.
func LimitsOf(cl cluster.Cluster) *translate.Limits {
	if p, ok := cl.(*connectedCluster); ok {
		p.limits.mu.Lock()
		defer p.limits.mu.Unlock()
		if p.limits.now != nil {
			return p.limits.now
		}
	}
	return translate.MissingLimits()
}

func (c *keeper) newLimits(httpClient *http.Client, held *ledger, missing *rights.Rights) (*limits, error) {
	l := &limits{clock: c.fleet.options.Clock, news: make(chan struct{}, 1), known: make(chan struct{})}
	mapper, err := c.fleet.mapper(c.target.Config, httpClient)
	if err != nil {
		return nil, err
	}
	l.cache, err = cache.New(c.target.Config, cache.Options{
		HTTPClient: httpClient, Scheme: scheme.Scheme, Mapper: mapper,
		DefaultTransform: held.counted(cache.TransformStripManagedFields()),
		ByObject: map[client.Object]cache.ByObject{&corev1.ConfigMap{}: {
			Namespaces: map[string]cache.Config{v1alpha1.ProviderNamespace: {FieldSelector: fields.OneTermEqualSelector("metadata.name", v1alpha1.LimitsName)}},
		}},
		NewInformer: func(from toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
			return toolscache.NewSharedIndexInformer(missing.Watched(from, limitsResource, nil), object, resync, indexers)
		},
		DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) { l.fail(err) },
	})
	if err != nil {
		return nil, fmt.Errorf("making a client for provider %s: %w", c.target.ClusterID, err)
	}
	return l, nil
}

// start follows the limits until lifetime ends, and returns once something is known of
// them, even that they cannot be read.
func (l *limits) start(ctx, lifetime context.Context) error {
	informer, err := l.cache.GetInformer(ctx, &corev1.ConfigMap{}, cache.BlockUntilSynced(false))
	if err == nil {
		_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { l.wake() }, UpdateFunc: func(any, any) { l.wake() }, DeleteFunc: func(any) { l.wake() },
		})
	}
	if err != nil {
		return fmt.Errorf("watching the limits of the provider: %w", err)
	}
	go func() { _ = l.cache.Start(lifetime) }() // Fails only if started twice.
	go func() {
		if l.cache.WaitForCacheSync(lifetime) {
			l.wake()
		}
	}()
	go l.run(lifetime, informer)
	select {
	case <-l.known:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("reading the limits of the provider: %w", context.Cause(ctx))
	}
}

func (l *limits) wake() {
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// fail notes that the limits may not be read, which counts only before the first read. A
// refusal by an authorizer ahead of RBAC is an internal error, too: see
// config/provider/authorization.yaml. Other errors pass, or end the session.
func (l *limits) fail(err error) {
	if !apierrors.IsForbidden(err) && !apierrors.IsInternalError(err) {
		return
	}
	l.mu.Lock()
	l.refused = err
	l.mu.Unlock()
	l.wake()
}

func (l *limits) run(ctx context.Context, informer cache.Informer) {
	for {
		select {
		case <-l.news:
		case <-ctx.Done():
			return
		}
		l.set(l.read(ctx, informer))
		select {
		case <-l.clock.After(limitsEvery):
		case <-ctx.Done():
			return
		}
	}
}

// read returns the cached limits, or why there are none; nil: not known yet.
func (l *limits) read(ctx context.Context, informer cache.Informer) *translate.Limits {
	if !informer.HasSynced() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.refused == nil {
			return nil
		}
		_, message := transport.Classify(l.refused)
		return translate.NoLimits(v1alpha1.ReasonLimitsForbidden, "ConfigMap spillway-provider/limits of the provider cannot be read: "+message)
	}
	limits := &corev1.ConfigMap{}
	switch err := l.cache.Get(ctx, client.ObjectKey{Namespace: v1alpha1.ProviderNamespace, Name: v1alpha1.LimitsName}, limits); {
	case apierrors.IsNotFound(err):
		return translate.MissingLimits()
	case err != nil:
		log.FromContext(ctx).V(1).Info("the limits of the provider are not read", "error", err.Error())
		return nil
	}
	return translate.LimitsOf(limits.Data)
}

// set passes changed limits to the followers.
func (l *limits) set(now *translate.Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now == nil || reflect.DeepEqual(now, l.now) {
		return
	}
	if l.now == nil {
		close(l.known)
	}
	l.now = now
	for _, follow := range l.followers {
		follow(now)
	}
}

func (l *limits) follow(follow func(*translate.Limits)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers = append(l.followers, follow)
	if l.now != nil {
		follow(l.now)
	}
}

// noteLimits has the ClusterBinding report whether the limits are known.
func (c *keeper) noteLimits(ctx context.Context) func(*translate.Limits) {
	return func(l *translate.Limits) {
		verdict := connection.Limits{Reason: v1alpha1.ReasonLimitsRead, Message: "the provider's profile is " + l.Profile}
		if l.Unknown != nil {
			verdict = connection.Limits{Reason: l.Unknown.Reason, Message: l.Unknown.Message}
		}
		c.setState(ctx, func(s *State) { s.Limits = verdict })
	}
}
