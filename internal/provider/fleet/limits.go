package fleet

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

// Limits are what a provider allows, during one connection.
type Limits struct {
	known chan struct{} // Closed once anything is known.

	mu        sync.Mutex
	now       *field.Limits
	followers []func(*field.Limits)
}

// Now returns what the provider allows now.
func (l *Limits) Now() *field.Limits {
	l.mu.Lock()
	defer l.mu.Unlock()
	return cmp.Or(l.now, field.MissingLimits())
}

// set passes changed limits to the followers.
func (l *Limits) set(now *field.Limits) {
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

// Follow calls follow with what the provider allows: at once if that is known, and on every change while the
// connection lasts.
func (l *Limits) Follow(follow func(*field.Limits)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.followers = append(l.followers, follow)
	if l.now != nil {
		follow(l.now)
	}
}

// noteLimits returns a function that notes in the report whether the limits are known.
func noteLimits(ctx context.Context, to *report) func(*field.Limits) {
	return func(l *field.Limits) {
		verdict := connection.Limits{Reason: v1alpha1.ReasonLimitsRead, Message: "the provider's profile is " + l.Profile}
		if l.Unknown != nil {
			verdict = connection.Limits{Reason: l.Unknown.Reason, Message: l.Unknown.Message}
		}
		to.update(ctx, func(state *State) { state.Limits = verdict })
	}
}

// limitsEvery is the time between two reads of changed limits. Each change enqueues all objects, and a provider
// may change its limits as often as it likes.
const limitsEvery = 2 * time.Second

// limitsResource is the name of the limits in a binding's condition Limited. It is used if they were read once
// and may no longer be read: then the last known ones still apply.
const limitsResource = "limits"

// limitsReader reads the Limits by a watch of that one ConfigMap, which does not carry Spillway's mark. It is
// the store of a Reflector, which costs a third of an informer.
type limitsReader struct {
	limits  *Limits
	from    toolscache.ListerWatcher
	counted toolscache.TransformFunc // Counts every object that arrives.
	clock   clock.Clock
	news    chan struct{} // Something may have changed.

	mu      sync.Mutex
	refused error             // The answer to the last watch, until one succeeds.
	read    bool              // found is known.
	found   *corev1.ConfigMap // Nil if it does not exist.
}

var _ toolscache.TransformingStore = &limitsReader{}

func newLimitsReader(limits *Limits, config *rest.Config, httpClient *http.Client, with *caches, clock clock.Clock) (*limitsReader, error) {
	core, err := corev1client.NewForConfigAndClient(inProtobuf(config), httpClient)
	if err != nil {
		return nil, err
	}
	l := &limitsReader{limits: limits, counted: with.budget.Counted(cache.TransformStripManagedFields()), clock: clock, news: make(chan struct{}, 1)}
	l.from = with.rights.Watched(l.only(core.ConfigMaps(v1alpha1.ProviderNamespace)), limitsResource, nil)
	return l, nil
}

// only lists and watches nothing but the limits, and notes if they may not be read.
func (l *limitsReader) only(configMaps corev1client.ConfigMapInterface) toolscache.ListerWatcher {
	only := fields.OneTermEqualSelector(metav1.ObjectNameField, v1alpha1.LimitsName).String()
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = only
			list, err := configMaps.List(ctx, o)
			l.fail(err)
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = only
			stream, err := configMaps.Watch(ctx, o)
			if !ptr.Deref(o.SendInitialEvents, false) { // A list follows a failed stream.
				l.fail(err)
			}
			return stream, err
		},
	}
}

// start follows the limits until lifetime ends. It returns once something is known about them, even that they
// cannot be read.
func (l *limitsReader) start(ctx, lifetime context.Context) error {
	silent := logr.Discard() // The Reflector would log each refusal, again and again.
	reflector := toolscache.NewReflectorWithOptions(l.from, &corev1.ConfigMap{}, l, toolscache.ReflectorOptions{Name: limitsResource, Logger: &silent})
	go reflector.RunWithContext(log.IntoContext(lifetime, silent))
	go l.run(lifetime)
	select {
	case <-l.limits.known:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("reading the limits of the provider: %w", context.Cause(ctx))
	}
}

// Transformer implements TransformingStore: objects that arrive before a list is complete count, too.
func (l *limitsReader) Transformer() toolscache.TransformFunc { return l.counted }

// Add implements ReflectorStore.
func (l *limitsReader) Add(obj any) error { return l.put(obj) }

// Update implements ReflectorStore.
func (l *limitsReader) Update(obj any) error { return l.put(obj) }

// Delete implements ReflectorStore.
func (l *limitsReader) Delete(obj any) error {
	if isLimits(obj) {
		l.show(nil)
	}
	return nil
}

// Replace implements ReflectorStore.
func (l *limitsReader) Replace(all []any, _ string) error {
	if !slices.ContainsFunc(all, isLimits) {
		l.show(nil)
	}
	for _, obj := range all {
		if err := l.put(obj); err != nil {
			return err
		}
	}
	return nil
}

// Resync implements ReflectorStore.
func (*limitsReader) Resync() error { return nil }

func (l *limitsReader) put(obj any) error {
	out, err := l.counted(obj)
	if found, ok := out.(*corev1.ConfigMap); ok && err == nil && isLimits(found) {
		l.show(found)
	}
	return err
}

// isLimits reports whether an object is the requested one: a provider may send anything.
func isLimits(obj any) bool {
	found, ok := obj.(*corev1.ConfigMap)
	return ok && found.Namespace == v1alpha1.ProviderNamespace && found.Name == v1alpha1.LimitsName
}

func (l *limitsReader) show(found *corev1.ConfigMap) {
	l.mu.Lock()
	l.read, l.found = true, found
	l.mu.Unlock()
	l.wake()
}

func (l *limitsReader) wake() {
	select {
	case l.news <- struct{}{}:
	default:
	}
}

// fail notes an error that says that the manager may not read the limits. The note counts only before the first
// read. An authorizer ahead of RBAC may refuse with an internal error: see config/provider/authorization.yaml.
// fail ignores other errors: they are temporary, or end the session.
func (l *limitsReader) fail(err error) {
	if !apierrors.IsForbidden(err) && !apierrors.IsInternalError(err) {
		return
	}
	l.mu.Lock()
	l.refused = err
	l.mu.Unlock()
	l.wake()
}

func (l *limitsReader) run(ctx context.Context) {
	for {
		select {
		case <-l.news:
		case <-ctx.Done():
			return
		}
		l.limits.set(l.current())
		select {
		case <-l.clock.After(limitsEvery):
		case <-ctx.Done():
			return
		}
	}
}

// current returns the limits, or why there are none. Nil means that they are not known yet.
func (l *limitsReader) current() *field.Limits {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.read && l.found != nil:
		return field.LimitsOf(l.found.Data)
	case l.read:
		return field.MissingLimits()
	case l.refused != nil:
		_, message := transport.Classify(l.refused)
		return field.NoLimits(v1alpha1.ReasonLimitsForbidden, "ConfigMap spillway-provider/limits of the provider cannot be read: "+message)
	}
	return nil
}
