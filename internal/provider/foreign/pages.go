package foreign

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/spillway-io/spillway/internal/provider/transport"
)

const (
	// pageSize is how many pods are in memory at a time during a list.
	pageSize = 250
	// mostPages ends a list that has no end.
	mostPages = 10_000
)

// onNodes selects the pods that use a node.
var onNodes = fields.AndSelectors(fields.OneTermNotEqualSelector("spec.nodeName", ""),
	fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)), fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed))).String()

var errTooMany = errors.New("there are too many pods")

// pages lists and watches the pods, and is the store of the Reflector. A list fills a table, page by page, and the
// Reflector gets an empty one: all pods at once would take as much memory as the provider likes.
type pages struct {
	of   *Pods
	pods corev1client.PodInterface
}

var (
	_ toolscache.ListerWatcherWithContext = &pages{}
	_ toolscache.ReflectorStore           = &pages{}
)

// ListWithContext implements ListerWatcherWithContext.
func (p *pages) ListWithContext(ctx context.Context, _ metav1.ListOptions) (runtime.Object, error) {
	next := newTable(p.of.limit)
	options := metav1.ListOptions{LabelSelector: p.of.labels, FieldSelector: onNodes, Limit: pageSize}
	ctx = transport.WithPages(ctx)
	for range mostPages {
		page, err := p.pods.List(ctx, options)
		if err != nil {
			p.failed(ctx, err)
			return nil, err
		}
		for i := range page.Items {
			next.put(&page.Items[i])
		}
		if next.isFull() {
			break
		}
		if options.Continue = page.Continue; options.Continue == "" {
			p.of.mu.Lock()
			p.of.next = next
			p.of.mu.Unlock()
			return &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: page.ResourceVersion}}, nil
		}
	}
	p.of.exceeded()
	return nil, errTooMany
}

// WatchWithContext implements ListerWatcherWithContext. What was listed counts once the watch has begun: without the
// right to watch, it would soon be wrong.
func (p *pages) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.LabelSelector, options.FieldSelector = p.of.labels, onNodes
	stream, err := p.pods.Watch(ctx, options)
	if err != nil {
		p.failed(ctx, err)
		return nil, err
	}
	p.of.begun()
	return stream, nil
}

// failed notes why the pods cannot be read. An authorizer ahead of RBAC may refuse with an internal error: see
// config/provider/authorization.yaml.
func (p *pages) failed(ctx context.Context, err error) {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // An error at the end of the connection says nothing about the provider. Expired: it is listed again.
	}
	_, message := transport.Classify(err)
	if apierrors.IsForbidden(err) || apierrors.IsInternalError(err) {
		p.of.failed("it does not let Spillway list and watch all pods: "+message, true)
		return
	}
	p.of.failed("they cannot be listed: "+message, false)
}

// List implements ListerWatcher.
func (p *pages) List(options metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), options)
}

// Watch implements ListerWatcher.
func (p *pages) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), options)
}

// IsWatchListSemanticsUnSupported makes the Reflector list: a streaming list would be held as a whole.
func (*pages) IsWatchListSemanticsUnSupported() bool { return true }

// Replace implements ReflectorStore: the list is in a table already.
func (p *pages) Replace([]any, string) error {
	p.of.mu.Lock()
	defer p.of.mu.Unlock()
	p.of.held, p.of.next = p.of.next, nil
	if p.of.known {
		p.of.debouncer.TriggerAfter(publishInterval)
	}
	return nil
}

// Add implements ReflectorStore.
func (p *pages) Add(obj any) error { return p.change(obj, (*table).put) }

// Update implements ReflectorStore.
func (p *pages) Update(obj any) error { return p.change(obj, (*table).put) }

// Delete implements ReflectorStore. It is called for a pod that has ended, too.
func (p *pages) Delete(obj any) error {
	return p.change(obj, func(held *table, pod *corev1.Pod) bool { return held.drop(keyOf(string(pod.UID))) })
}

func (p *pages) change(obj any, change func(*table, *corev1.Pod) bool) error {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return fmt.Errorf("%T is no pod", obj)
	}
	p.of.mu.Lock()
	if p.of.held == nil {
		p.of.mu.Unlock()
		return nil // Nobody wants it any more, or there were too many.
	}
	changes, full := change(p.of.held, pod), p.of.held.isFull()
	p.of.mu.Unlock()
	if full {
		p.of.exceeded()
	} else if changes {
		p.of.debouncer.TriggerAfter(publishInterval)
	}
	return nil
}

// Resync implements ReflectorStore.
func (*pages) Resync() error { return nil }
