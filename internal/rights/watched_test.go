package rights

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// provider has one ConfigMap, and lets it be read or not.
type provider struct {
	mu       sync.Mutex
	refused  bool
	requests int
	stream   *watch.FakeWatcher
}

func (p *provider) asked() error {
	p.requests++
	if p.refused {
		return no("configmaps")
	}
	return nil
}

func (p *provider) list(context.Context, metav1.ListOptions) (runtime.Object, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	list.Items = []corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "there", ResourceVersion: "7"}}}
	return list, p.asked()
}

func (p *provider) watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.asked(); err != nil {
		return nil, err
	}
	if options.SendInitialEvents != nil {
		return nil, apierrors.NewBadRequest("not known here")
	}
	p.stream = watch.NewFake()
	return p.stream, nil
}

// refuse takes the right away, or gives it, and ends what is watched.
func (p *provider) refuse(refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = refused
	if p.stream != nil {
		p.stream.Stop()
		p.stream = nil
	}
}

func (p *provider) counted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.requests
	p.requests = 0
	return n
}

// TestWatched runs in a bubble of its own time: what is waited for is for nothing.
func TestWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := &provider{refused: true}, New(nil)
		from := &toolscache.ListWatch{ListWithContextFunc: p.list, WatchFuncWithContext: p.watch}
		informer := toolscache.NewSharedIndexInformer(
			r.Watched(from, "configmaps", func() runtime.Object { return &corev1.ConfigMapList{} }), &corev1.ConfigMap{}, 0, toolscache.Indexers{})
		var unlimited []error
		_ = informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *toolscache.Reflector, err error) {
			if missing := (MissingError{}); !errors.As(err, &missing) || !apierrors.IsForbidden(err) {
				unlimited = append(unlimited, err)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { informer.RunWithContext(ctx); close(ended) }()
		defer func() { cancel(); <-ended }()

		expect := func(what, lacks string, objects, requests int) {
			t.Helper()
			synctest.Wait()
			if got := len(informer.GetStore().ListKeys()); !informer.HasSynced() || r.Lacks("configmaps") != lacks || got != objects {
				t.Errorf("%s: it lacks %q, and %d objects are there; want %q and %d", what, r.Lacks("configmaps"), got, lacks, objects)
			}
			if got := p.counted(); got == 0 || got > requests {
				t.Errorf("%s: it has asked %d times; want at most %d", what, got, requests)
			}
		}
		const hourly = 600 // It is about 380: a try each 20 seconds, of two requests.
		<-time.After(time.Minute)
		expect("from the beginning", "list and watch", 0, 20)
		<-time.After(time.Hour)
		expect("for an hour", "list and watch", 0, hourly)

		p.refuse(false)
		<-time.After(time.Minute)
		expect("given", "", 1, 6)

		p.refuse(true)
		<-time.After(time.Hour)
		expect("taken away under way", "list and watch", 1, hourly)

		p.refuse(false)
		<-time.After(time.Minute)
		expect("given back", "", 1, 6)
		if len(unlimited) > 0 {
			t.Errorf("errors that would end the connection: %v", unlimited)
		}
	})
}
