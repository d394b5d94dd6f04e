package autoscaler

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/spillway-io/spillway/internal/provider/transport"
)

const (
	// pageSize is how many events are in memory at a time during a list, and mostPages ends a list that has no end.
	pageSize  = 250
	mostPages = 1_000
)

var errTooMany = errors.New("there are too many events")

// answers lists and watches the events that one selector selects, and is the store of the Reflector. A list comes in pages,
// and replaces what was said before.
type answers struct {
	to       *Answers
	events   corev1client.EventInterface
	selector string
	said     map[types.UID]answer // By the UID of the pod. Under the lock of to.
}

// answer is what an event says.
type answer struct {
	event types.UID
	pod   types.NamespacedName
	text  string
}

var (
	_ toolscache.ListerWatcherWithContext = &answers{}
	_ toolscache.ReflectorStore           = &answers{}
)

// ListWithContext implements ListerWatcherWithContext. The list it returns is empty.
func (a *answers) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	next := map[types.UID]answer{}
	var pods []types.NamespacedName
	options := metav1.ListOptions{FieldSelector: a.selector, Limit: pageSize}
	ctx = transport.WithPages(ctx)
	for range mostPages {
		page, err := a.events.List(ctx, options)
		if err != nil {
			return nil, err
		}
		for i := range page.Items {
			if a.to.concerns(&page.Items[i]) && put(next, &page.Items[i]) {
				pods = append(pods, podOf(&page.Items[i]))
			}
		}
		if options.Continue = page.Continue; options.Continue == "" {
			a.to.mu.Lock()
			a.said = next
			a.to.mu.Unlock()
			a.to.tell(pods)
			return &corev1.EventList{ListMeta: metav1.ListMeta{ResourceVersion: page.ResourceVersion}}, nil
		}
	}
	return nil, errTooMany
}

// put holds what an event says, and reports whether that is an answer about a pod that had none.
func put(into map[types.UID]answer, event *corev1.Event) bool {
	pod, text := event.InvolvedObject.UID, said(event)
	_, had := into[pod]
	if text == "" || !plausible(event) || !had && len(into) >= mostAnswers {
		return false
	}
	into[pod] = answer{event.UID, podOf(event), text}
	return !had
}

// plausible reports whether an event has names and UIDs as Kubernetes makes them, and is in the namespace of its pod. A
// provider may send any.
func plausible(event *corev1.Event) bool {
	const mostUID, mostName, mostNamespace = 64, 253, 63
	about := event.InvolvedObject
	return len(event.UID) <= mostUID && len(about.UID) <= mostUID && len(about.Name) <= mostName && len(about.Namespace) <= mostNamespace && about.Namespace == event.Namespace
}

func podOf(event *corev1.Event) types.NamespacedName {
	return types.NamespacedName{Namespace: event.InvolvedObject.Namespace, Name: event.InvolvedObject.Name}
}

// WatchWithContext implements ListerWatcherWithContext.
func (a *answers) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.FieldSelector = a.selector
	return a.events.Watch(ctx, options)
}

// List implements ListerWatcher.
func (a *answers) List(options metav1.ListOptions) (runtime.Object, error) {
	return a.ListWithContext(context.Background(), options)
}

// Watch implements ListerWatcher.
func (a *answers) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return a.WatchWithContext(context.Background(), options)
}

// IsWatchListSemanticsUnSupported makes the Reflector list: a streaming list would be held as a whole.
func (*answers) IsWatchListSemanticsUnSupported() bool { return true }

// Replace implements ReflectorStore: the list is held already.
func (*answers) Replace([]any, string) error { return nil }

// Add implements ReflectorStore.
func (a *answers) Add(obj any) error {
	event, ok := obj.(*corev1.Event)
	if !ok {
		return fmt.Errorf("%T is no event", obj)
	}
	if !a.to.concerns(event) {
		return nil
	}
	a.to.mu.Lock()
	isNew := put(a.said, event)
	a.to.mu.Unlock()
	if isNew {
		a.to.tell([]types.NamespacedName{podOf(event)})
	}
	return nil
}

// Update implements ReflectorStore.
func (a *answers) Update(obj any) error { return a.Add(obj) }

// Delete implements ReflectorStore. The event of an answer has expired.
func (a *answers) Delete(obj any) error {
	event, ok := obj.(*corev1.Event)
	if !ok {
		return fmt.Errorf("%T is no event", obj)
	}
	a.to.mu.Lock()
	defer a.to.mu.Unlock()
	if a.said[event.InvolvedObject.UID].event == event.UID {
		delete(a.said, event.InvolvedObject.UID)
	}
	return nil
}

// Resync implements ReflectorStore.
func (*answers) Resync() error { return nil }
