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
	"k8s.io/utils/clock"
)

// provider has one ConfigMap, readable or not.
type provider struct {
	mu       sync.Mutex
	refused  bool
	answer   error // If refused.
	requests int
	stream   *watch.FakeWatcher
	// whole is how long a watch takes that begins with all objects; zero: it is not
	// supported.
	whole time.Duration
}

var there = corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "there", ResourceVersion: "7"}}

func (p *provider) asked() error {
	p.requests++
	if p.refused {
		return p.answer
	}
	return nil
}

func (p *provider) list(context.Context, metav1.ListOptions) (runtime.Object, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}}
	list.Items = []corev1.ConfigMap{there}
	return list, p.asked()
}

func (p *provider) watch(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.asked(); err != nil {
		return nil, err
	}
	if options.SendInitialEvents != nil && p.whole == 0 {
		return nil, apierrors.NewBadRequest("not known here")
	}
	p.stream = watch.NewFake()
	if options.SendInitialEvents != nil {
		go p.begin(p.stream)
	}
	return p.stream, nil
}

// begin sends all objects at the start of a watch.
func (p *provider) begin(stream *watch.FakeWatcher) {
	<-time.After(p.whole)
	stream.Add(there.DeepCopy())
	end := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
	stream.Action(watch.Bookmark, end)
}

// refuse takes the right away, or grants it, and ends the watches.
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

// TestWatched: a kind is off and on, whatever the reason.
func TestWatched(t *testing.T) {
	t.Run("no right", func(t *testing.T) {
		testWatched(t, no("configmaps"), "does not let Spillway list and watch configmaps")
	})
	t.Run("not served", func(t *testing.T) { testWatched(t, unknown, "does not serve configmaps"+needed) })
	t.Run("defined otherwise", func(t *testing.T) { testWatched(t, odd[0], "does not serve configmaps"+needed) })
}

// testWatched runs in a bubble of its own time, where waiting is free.
func testWatched(t *testing.T, answer error, lack string) {
	synctest.Test(t, func(t *testing.T) {
		p, r := &provider{refused: true, answer: answer}, New(clock.RealClock{}, nil)
		var unlimited []error
		informer := informerOf(p, r, func(_ context.Context, _ *toolscache.Reflector, err error) {
			if missing := (MissingError{}); !errors.As(err, &missing) || !errors.Is(err, answer) {
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
			if got := len(informer.GetStore().ListKeys()); !informer.HasSynced() || r.WhyUnreadable("configmaps").What != lacks || got != objects {
				t.Errorf("%s: it lacks %q, and %d objects are there; want %q and %d", what, r.WhyUnreadable("configmaps"), got, lacks, objects)
			}
			if got := p.counted(); got == 0 || got > requests {
				t.Errorf("%s: it has asked %d times; want at most %d", what, got, requests)
			}
		}
		const hourly = 600 // About 380: every 20 seconds a try of two requests.
		<-time.After(time.Minute)
		expect("from the beginning", lack, 0, 20)
		<-time.After(time.Hour)
		expect("for an hour", lack, 0, hourly)

		p.refuse(false)
		<-time.After(time.Minute)
		expect("given", "", 1, 6)

		p.refuse(true)
		<-time.After(time.Hour)
		expect("taken away under way", lack, 1, hourly)

		p.refuse(false)
		<-time.After(time.Minute)
		expect("given back", "", 1, 6)
		if len(unlimited) > 0 {
			t.Errorf("errors that would end the connection: %v", unlimited)
		}
	})
}

// What was not read yet does not count as missing: a right counts when the cache is full.
func TestARightCountsWhenTheCacheIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, r := &provider{refused: true, answer: no("configmaps"), whole: 3 * time.Second}, New(clock.RealClock{}, nil)
		// The library's own handler would wait for its last error's time, outside the
		// bubble.
		informer := informerOf(p, r, func(context.Context, *toolscache.Reflector, error) {})
		settled := 0
		r.Follow(t.Context(), func() {
			if settled++; r.WhyUnreadable("configmaps").Reason == "" && len(informer.GetStore().ListKeys()) == 0 {
				t.Error("nothing is lacking, and nothing is there")
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { informer.RunWithContext(ctx); close(ended) }()
		defer func() { cancel(); <-ended }()
		<-time.After(time.Minute)
		p.refuse(false)
		<-time.After(time.Minute)
		synctest.Wait()
		if lacks := r.WhyUnreadable("configmaps"); lacks.Reason != "" || len(informer.GetStore().ListKeys()) != 1 {
			t.Errorf("it lacks %q, and %v are there", lacks, informer.GetStore().ListKeys())
		}
		if settled != 2 {
			t.Errorf("what is missing has changed %d times; want 2: when it was refused, and when it was given", settled)
		}
	})
}

func informerOf(p *provider, r *Rights, onError toolscache.WatchErrorHandlerWithContext) toolscache.SharedIndexInformer {
	from := &toolscache.ListWatch{ListWithContextFunc: p.list, WatchFuncWithContext: p.watch}
	informer := toolscache.NewSharedIndexInformer(
		r.Watched(from, "configmaps", func() runtime.Object { return &corev1.ConfigMapList{} }), &corev1.ConfigMap{}, 0, toolscache.Indexers{})
	_ = informer.SetWatchErrorHandlerWithContext(onError) // Fails only if it has started.
	return informer
}
