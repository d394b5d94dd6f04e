package informer

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	toolscache "k8s.io/client-go/tools/cache"
	cachetesting "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// watching is a cache of ConfigMaps that starts an informer when GetInformer is called.
type watching struct {
	cache.Cache
	of     NewFunc
	server *cachetesting.FakeControllerSource
	hold   chan struct{} // If set, nothing is listed before it is closed.

	mu       sync.Mutex
	running  context.Context
	informer toolscache.SharedIndexInformer
	stop     context.CancelFunc
	started  int
	indexed  []string
}

func (w *watching) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.informer == nil {
		from := &toolscache.ListWatch{
			ListWithContextFunc: func(_ context.Context, options metav1.ListOptions) (runtime.Object, error) {
				if w.hold != nil {
					<-w.hold
				}
				return w.server.List(options)
			},
			WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return w.server.Watch(options)
			},
		}
		w.informer = w.of(from, &corev1.ConfigMap{}, 0, nil)
		w.started++
		w.run(w.running) //nolint:contextcheck // It ends with the cache.
	}
	return w.informer, nil
}

func (w *watching) run(ctx context.Context) {
	if ctx != nil && w.informer != nil {
		ctx, w.stop = context.WithCancel(ctx)
		go w.informer.RunWithContext(ctx)
	}
}

func (w *watching) Start(ctx context.Context) error {
	w.mu.Lock()
	w.running = ctx
	w.run(ctx)
	w.mu.Unlock()
	<-ctx.Done()
	return nil
}

func (w *watching) RemoveInformer(context.Context, client.Object) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stop()
	w.informer = nil
	return nil
}

func (w *watching) WaitForCacheSync(ctx context.Context) bool {
	w.mu.Lock()
	informer := w.informer
	w.mu.Unlock()
	if informer != nil {
		<-informer.HasSyncedChecker().Done()
	}
	return ctx.Err() == nil
}

func (w *watching) IndexField(_ context.Context, _ client.Object, field string, _ client.IndexerFunc) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.indexed = append(w.indexed, field)
	return nil
}

func (w *watching) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found, exists, err := w.informer.GetStore().GetByKey(key.String())
	if !exists {
		return apierrors.NewNotFound(corev1.Resource("configmaps"), key.Name)
	}
	found.(*corev1.ConfigMap).DeepCopyInto(into.(*corev1.ConfigMap))
	return err
}

func (w *watching) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	var all []runtime.Object
	for _, obj := range w.informer.GetStore().List() {
		all = append(all, obj.(runtime.Object))
	}
	return meta.SetList(into, all)
}

// demanding is a Demand of ConfigMaps, and what it has done.
type demanding struct {
	*Demand
	of *watching

	mu   sync.Mutex
	said []string
}

func (d *demanding) say(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.said = append(d.said, what)
}

func newDemanding(t *testing.T, of NewFunc, has ...string) *demanding {
	t.Helper()
	server := cachetesting.NewFakeControllerSource()
	t.Cleanup(server.Shutdown)
	for _, name := range has {
		server.Add(configMap(name, "1"))
	}
	d := &demanding{of: &watching{of: of, server: server}}
	demand, err := OnDemand(d.of, DemandOptions{
		Kinds: []client.Object{&corev1.ConfigMap{}}, Scheme: scheme.Scheme,
		First: toolscache.ResourceEventHandlerFuncs{},
		Opening: func(client.Object) func() {
			d.say("opening")
			return func() {
				if len(d.names(t)) > 0 {
					t.Error("it can be read before it is opened")
				}
				d.say("read")
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := demand.IndexField(t.Context(), &corev1.ConfigMap{}, "field", nil); err != nil {
		t.Fatal(err)
	}
	d.Demand = demand
	return d
}

// start starts the cache, and waits for the kinds that are watched.
func (d *demanding) start(t *testing.T) {
	t.Helper()
	go func() { _ = d.Start(t.Context()) }()
	if !d.WaitForCacheSync(t.Context()) {
		t.Fatal("it does not sync")
	}
}

func (d *demanding) names(t *testing.T) []string {
	t.Helper()
	var list corev1.ConfigMapList
	if err := d.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	slices.Sort(names)
	return names
}

// need needs ConfigMaps, and waits until they can be read.
func (d *demanding) need(t *testing.T) {
	t.Helper()
	then := make(chan struct{})
	readable, err := d.Need(t.Context(), &corev1.ConfigMap{}, then, func() { close(then) })
	if err != nil {
		t.Fatal(err)
	}
	if !readable {
		<-then
	}
}

func (d *demanding) settle(t *testing.T, keep bool) {
	t.Helper()
	if err := d.Settle(t.Context(), func(client.Object) bool { return keep }); err != nil {
		t.Fatal(err)
	}
}

// TestDemand: what can be read of a kind on demand, how often its watch was started, and which functions of
// the options were called.
func TestDemand(t *testing.T) { overBoth(t, testDemand) }

func testDemand(t *testing.T, of NewFunc) {
	type outcome struct {
		Read    []string
		Watched bool
		Started int
		Said    []string
	}
	late := []string{"opening", "read"}
	for name, test := range map[string]struct {
		has  []string
		do   func(*testing.T, *demanding)
		want outcome
	}{
		"nobody needs it": {[]string{"a"}, func(t *testing.T, d *demanding) { d.start(t) }, outcome{}},
		"needed before the start": {[]string{"a"}, func(t *testing.T, d *demanding) {
			_, _ = d.Need(t.Context(), &corev1.ConfigMap{}, nil, nil)
			d.start(t)
		}, outcome{[]string{"a"}, true, 1, nil}},
		"needed later":                        {[]string{"a"}, func(t *testing.T, d *demanding) { d.start(t); d.need(t) }, outcome{[]string{"a"}, true, 1, nil}},
		"needed twice":                        {[]string{"a"}, func(t *testing.T, d *demanding) { d.start(t); d.need(t); d.need(t) }, outcome{[]string{"a"}, true, 1, nil}},
		"empty at the beginning":              {nil, func(t *testing.T, d *demanding) { filled(t, d, false) }, outcome{nil, false, 1, nil}},
		"empty at the beginning, and kept":    {nil, func(t *testing.T, d *demanding) { filled(t, d, true) }, outcome{nil, true, 1, nil}},
		"there at the beginning":              {[]string{"a"}, func(t *testing.T, d *demanding) { filled(t, d, false) }, outcome{[]string{"a"}, true, 1, nil}},
		"empty at the beginning, then needed": {nil, func(t *testing.T, d *demanding) { filled(t, d, false); d.of.server.Add(configMap("a", "1")); d.need(t) }, outcome{[]string{"a"}, true, 2, late}},
		"needed before it is settled": {nil, func(t *testing.T, d *demanding) {
			_, _ = d.Need(t.Context(), &corev1.ConfigMap{}, nil, nil)
			filled(t, d, false)
		}, outcome{nil, true, 1, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDemanding(t, of, test.has...)
			test.do(t, d)
			got := outcome{Read: d.names(t), Watched: len(d.Watched()) > 0, Started: d.of.started, Said: d.said}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(d.of.indexed) != d.of.started {
				t.Errorf("of %d informers, %d have the index", d.of.started, len(d.of.indexed))
			}
			err := d.Get(t.Context(), client.ObjectKey{Namespace: "team", Name: "a"}, &corev1.ConfigMap{})
			if apierrors.IsNotFound(err) != (len(test.want.Read) == 0) {
				t.Errorf("getting one that there is or not: %v", err)
			}
			informer, err := d.GetInformer(t.Context(), &corev1.ConfigMap{})
			if err != nil || !informer.HasSynced() || informer.IsStopped() || d.of.started != test.want.Started {
				t.Errorf("asking for its informer: %v", err)
			}
		})
	}
}

func filled(t *testing.T, d *demanding, keep bool) {
	t.Helper()
	if err := d.Fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.start(t)
	d.settle(t, keep)
}

// TestDemandTellsFollowers: followers of a kind get all its objects once it can be read, and not before. They miss
// no change, whenever they begin to follow.
func TestDemandTellsFollowers(t *testing.T) { overBoth(t, testDemandTellsFollowers) }

func testDemandTellsFollowers(t *testing.T, of NewFunc) {
	d := newDemanding(t, of, "a", "gone")
	d.of.hold = make(chan struct{})
	d.start(t)
	follow := func() *seen {
		s := &seen{}
		if err := Watch(t.Context(), d, &corev1.ConfigMap{}, func(c Change) {
			if len(d.names(t)) == 0 {
				t.Error("a change is told of that cannot be read")
			}
			s.note(c)
		}); err != nil {
			t.Fatal(err)
		}
		return s
	}
	all := []*seen{follow()}
	then := make(chan struct{})
	if readable, err := d.Need(t.Context(), &corev1.ConfigMap{}, then, func() { close(then) }); readable || err != nil {
		t.Fatalf("readable %t, %v", readable, err)
	}
	all = append(all, follow())
	informer, _ := d.GetInformer(t.Context(), &corev1.ConfigMap{})
	if informer.HasSynced() {
		t.Error("it has synced before it is read")
	}
	close(d.of.hold)
	all = append(all, follow())
	<-then
	all = append(all, follow())
	d.of.server.Add(configMap("b", "1"))
	d.of.server.Delete(configMap("gone", "1"))
	for i, s := range all {
		told := s.until(t, "all", func(told []said) bool {
			return has("b=1")(told) && slices.ContainsFunc(told, func(one said) bool { return one.Before == "gone=1" && one.After == "" })
		})
		if !has("a=1")(told) || !has("gone=1")(told) {
			t.Errorf("follower %d has missed what was there: %v", i, told)
		}
	}
}

// TestDemandStopsNothingThatIsNeeded: a kind stays watched if it is needed while Settle finds it empty.
func TestDemandStopsNothingThatIsNeeded(t *testing.T) {
	overBoth(t, testDemandStopsNothingThatIsNeeded)
}

func testDemandStopsNothingThatIsNeeded(t *testing.T, of NewFunc) {
	for range 50 {
		d := newDemanding(t, of)
		if err := d.Fill(t.Context()); err != nil {
			t.Fatal(err)
		}
		d.start(t)
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				d.need(t)
				if len(d.Watched()) == 0 {
					t.Error("what is needed is not watched")
				}
			})
		}
		group.Go(func() { d.settle(t, false) })
		group.Wait()
		d.of.server.Add(configMap("a", "1"))
		for deadline := time.Now().Add(30 * time.Second); len(d.names(t)) == 0; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("what is made is not seen")
			}
		}
	}
}

// TestDemandIsAsked: a Demand leaves other kinds alone.
func TestDemandIsAsked(t *testing.T) { overBoth(t, testDemandIsAsked) }

func testDemandIsAsked(t *testing.T, of NewFunc) {
	d := newDemanding(t, of)
	informer, err := d.GetInformer(t.Context(), &corev1.ConfigMap{})
	if err != nil || informer == nil || d.of.started > 0 {
		t.Errorf("%v, %d started", err, d.of.started)
	}
	if readable, err := d.Need(t.Context(), &corev1.Pod{}, nil, nil); !readable || err != nil {
		t.Errorf("pods are not on demand: %t, %v", readable, err)
	}
	if readable, err := Need(t.Context(), d.of, &corev1.ConfigMap{}, nil, nil); !readable || err != nil {
		t.Errorf("nothing is, in other caches: %t, %v", readable, err)
	}
	d.start(t)
	d.need(t)
	if err := d.IndexField(t.Context(), &corev1.ConfigMap{}, "late", nil); err == nil {
		t.Error("an index is taken that the informer will not have")
	}
}
