package podevent

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/internal/decide/podevent"
)

const (
	// concerning selects the events in a provider, and warnings those that are warnings. Labels cannot select them: writers of
	// events copy none from the objects they are about. Nor can fields select several kinds:
	// left out are those about which most warnings are, of what is never sent.
	warnings   = "type!=Normal," + concerning
	concerning = "involvedObject.kind!=Node,involvedObject.kind!=HorizontalPodAutoscaler,involvedObject.kind!=ReplicaSet," +
		"involvedObject.kind!=StatefulSet,involvedObject.kind!=DaemonSet,involvedObject.kind!=Deployment,involvedObject.kind!=Job,involvedObject.kind!=CronJob"
	// pageSize is how many events are in memory at a time during a list.
	pageSize = 500
)

// intake puts the events of a provider into the buffer, one by one. A Reflector treats it
// as a store, and keeps nothing itself.
type intake struct{ *reconciler }

var _ toolscache.ReflectorStore = &intake{}

// run reads the events of a provider until ctx ends. It begins anew when the ClusterBinding asks for others, so
// that what it no longer asks for is forgotten.
func (i *intake) run(ctx context.Context) {
	for ctx.Err() == nil {
		all := i.AllEvents()
		reading, stop := context.WithCancel(ctx)
		go func() {
			defer stop()
			for {
				select {
				case <-reading.Done():
					return
				case <-i.changed:
					if i.AllEvents() != all {
						return
					}
				}
			}
		}()
		newReflector(reading, i, all).RunWithContext(reading)
		stop()
	}
}

// newReflector watches the events of a provider: all, or only warnings.
func newReflector(ctx context.Context, to *intake, all bool) *toolscache.Reflector {
	selector := warnings
	if all {
		selector = concerning
	}
	return toolscache.NewReflectorWithOptions(&paged{to.events, to, selector}, &corev1.Event{}, to, toolscache.ReflectorOptions{
		Name: "podevent", Logger: ptr.To(log.FromContext(ctx)),
	})
}

// Add implements ReflectorStore.
func (i *intake) Add(obj any) error {
	event, ok := obj.(*corev1.Event)
	if !ok {
		return fmt.Errorf("%T is no event", obj)
	}
	i.take(context.Background(), event)
	return nil
}

// Update implements ReflectorStore.
func (i *intake) Update(obj any) error { return i.Add(obj) }

// Delete implements ReflectorStore. What is shown in the consumer stays until it
// expires.
func (i *intake) Delete(obj any) error {
	if event, ok := obj.(*corev1.Event); ok {
		i.buffer.Remove(podevent.IDOf(event))
		i.early.Remove(podevent.IDOf(event))
	}
	return nil
}

// Replace implements ReflectorStore: the events were put into the buffer while they
// were listed.
func (i *intake) Replace([]any, string) error {
	i.buffer.Sweep()
	i.early.Sweep()
	return nil
}

// Resync implements ReflectorStore.
func (*intake) Resync() error { return nil }

// take keeps an event about an object of a kind that is sent, in a namespace that is Spillway's or may turn out
// to be.
func (i *intake) take(ctx context.Context, event *corev1.Event) {
	target, occurrence, ok := podevent.Read(event, i.AllEvents())
	if !ok || i.kinds[target.Kind] == nil {
		return
	}
	if i.isMarked(ctx, target.Namespace) {
		i.keep(ctx, target, occurrence)
		return
	}
	i.early.Put(target, occurrence, false, i.clock.Now())
	if i.isMarked(ctx, target.Namespace) { // It has been seen in between.
		i.arrived(ctx, target.Namespace)
	}
}

// arrived keeps the events that came before the remote namespace that they are about.
func (i *intake) arrived(ctx context.Context, namespace string) {
	i.early.Release(namespace, func(target podevent.Target, o podevent.Occurrence) { i.keep(ctx, target, o) })
}

func (i *intake) keep(ctx context.Context, target podevent.Target, occurrence podevent.Occurrence) {
	remote, err := i.remoteOf(ctx, target)
	if err != nil {
		return // The cache is ending, and the connection with it.
	}
	i.buffer.Put(target, occurrence, remote != nil, i.clock.Now())
	i.enqueue(target)
}

// isMarked reports whether a namespace of the provider has our mark: the cache holds
// no others.
func (i *intake) isMarked(ctx context.Context, name string) bool {
	namespace := &corev1.Namespace{}
	return i.remote.Get(ctx, client.ObjectKey{Name: name}, namespace) == nil && i.Mark.IsOn(namespace)
}

// paged lists and watches the events of a provider that the selector selects.
type paged struct {
	events   corev1client.EventInterface
	to       *intake
	selector string
}

var _ toolscache.ListerWatcherWithContext = &paged{}

// ListWithContext implements ListerWatcherWithContext. The list it returns is empty:
// all tenants' events at once would take as much memory as a provider likes.
func (p *paged) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	p.to.buffer.Begin()
	p.to.early.Begin()
	options := metav1.ListOptions{FieldSelector: p.selector, Limit: pageSize}
	for {
		page, err := p.events.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			p.to.take(ctx, &page.Items[i])
		}
		if page.Continue == "" {
			return &corev1.EventList{ListMeta: metav1.ListMeta{ResourceVersion: page.ResourceVersion}}, nil
		}
		options.Continue = page.Continue
	}
}

// WatchWithContext implements ListerWatcherWithContext.
func (p *paged) WatchWithContext(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	options.FieldSelector = p.selector
	return p.events.Watch(ctx, options)
}

// List implements ListerWatcher.
func (p *paged) List(options metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), options)
}

// Watch implements ListerWatcher.
func (p *paged) Watch(options metav1.ListOptions) (apiwatch.Interface, error) {
	return p.WatchWithContext(context.Background(), options)
}

// IsWatchListSemanticsUnSupported makes the Reflector list in pages: with a streaming
// list, it would collect everything itself.
func (*paged) IsWatchListSemanticsUnSupported() bool { return true }
