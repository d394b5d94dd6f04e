package podevent

import (
	"context"
	"errors"
	"reflect"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolume"
	"github.com/spillway-io/spillway/controllers/toprovider/persistentvolumeclaim"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/controllers/toprovider/service"
	"github.com/spillway-io/spillway/internal/consumer/views"
	"github.com/spillway-io/spillway/internal/decide/podevent"
	"github.com/spillway-io/spillway/internal/engine"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/scheme"
)

// held is a cache of these objects.
type held struct {
	cache.Cache
	objects []client.Object
}

func (h *held) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for _, obj := range h.objects {
		if reflect.TypeOf(obj) == reflect.TypeOf(into) && client.ObjectKeyFromObject(obj) == key {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(obj).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// kinds are a pod, one of the kinds whose objects are protected, one that goes with its namespace,
// and one without a namespace.
func kinds(t *testing.T) map[string]*eventKind {
	all, err := eventKindsOf([]engine.Registration{
		engine.Register(pod.Kind()), engine.Register(persistentvolumeclaim.Kind()), engine.Register(service.Kind()), engine.Register(persistentvolume.Kind()),
	}, scheme.Scheme)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestEarlyWarnings sends warnings before the watch has shown the namespace that they
// are about.
func TestEarlyWarnings(t *testing.T) {
	mark := provenance.Mark{Origin: "origin", ClusterID: "eu"}
	remote := &held{}
	clock := clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	var queue []decide.Key
	enqueue := func(keys ...decide.Key) { queue = append(queue, keys...) }
	to := &intake{&reconciler{
		Connection: engine.Connection{Mark: mark, Enqueue: enqueue, AllEvents: warningsOnly}, kinds: kinds(t), remote: remote, clock: clock,
		buffer: podevent.NewBuffer(podevent.MostKept), early: podevent.NewBuffer(podevent.MostEarly),
	}}
	for _, namespace := range []string{"ours", "theirs"} {
		to.take(t.Context(), warningAbout(namespace))
	}
	if shown := to.buffer.Targets(); len(shown) > 0 || len(queue) > 0 {
		t.Fatalf("there is no namespace, and %v is looked at", shown)
	}
	for name, labels := range map[string]map[string]string{"theirs": {}, "ours": mark.Labels()} {
		remote.objects = append(remote.objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	to.arrived(t.Context(), "ours")
	other := warningAbout("ours")
	other.InvolvedObject.Kind, other.UID = "ReplicaSet", "another"
	to.take(t.Context(), other) // Of a kind that is not sent.
	want := []podevent.Target{{Kind: "Pod", NamespacedName: types.NamespacedName{Namespace: "ours", Name: "pod"}, UID: "pod-of-ours"}}
	if diff := cmp.Diff(want, to.buffer.Targets()); diff != "" || len(queue) != 1 {
		t.Errorf("%v are looked at, kept (-want +got)\n%s", queue, diff)
	}
	// What is deleted in the meantime is not kept.
	if err := to.Delete(warningAbout("theirs")); err != nil {
		t.Fatal(err)
	}
	if left := to.early.Targets(); len(left) > 0 {
		t.Errorf("of what is gone there is left %v", left)
	}
}

// listed is a client for events that tells with which selector they are listed.
type listed struct {
	corev1client.EventInterface
	call func(selector string)
}

func (l listed) List(_ context.Context, options metav1.ListOptions) (*corev1.EventList, error) {
	l.call(options.FieldSelector)
	return nil, errors.New("no more")
}

func warningsOnly() bool { return false }

// TestWatchingEvents: they are read once a namespace has our mark, and not before, and read anew when the binding asks
// for others.
func TestWatchingEvents(t *testing.T) {
	mark := provenance.Mark{Origin: "origin", ClusterID: "eu"}
	remote := &informertest.FakeInformers{Scheme: scheme.Scheme}
	var ours, all atomic.Bool
	read := make(chan string, 1)
	to := &intake{&reconciler{
		Connection: engine.Connection{Mark: mark, AllEvents: all.Load}, remote: remote, clock: clocktesting.NewFakePassiveClock(time.Time{}), changed: make(chan struct{}, 1),
		buffer: podevent.NewBuffer(podevent.MostKept), early: podevent.NewBuffer(podevent.MostEarly),
		events: listed{call: func(selector string) {
			if !ours.Load() {
				selector = "too soon"
			}
			select {
			case read <- selector:
			default:
			}
		}},
	}}
	if err := watchNamespaces(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	namespaces, err := remote.FakeInformerFor(t.Context(), &corev1.Namespace{})
	if err != nil {
		t.Fatal(err)
	}
	until := func(want string) {
		t.Helper()
		for end := time.After(time.Minute); ; {
			select {
			case got := <-read:
				if got == want {
					return
				}
				if want == warnings {
					t.Fatalf("they are read with %s", got)
				}
			case <-end:
				t.Fatalf("they are not read with %s", want)
			}
		}
	}
	namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}})
	runtime.Gosched() // A reader that has begun would read now.
	ours.Store(true)
	namespaces.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ours", Labels: mark.Labels()}})
	until(warnings)
	all.Store(true)
	to.EnqueueNamespace(t.Context(), "")
	until(concerning)
}

func warningAbout(namespace string) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: namespace, Name: "pod.1", UID: types.UID("event-in-" + namespace)},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: namespace, Name: "pod", UID: types.UID("pod-of-" + namespace)},
		Type:           corev1.EventTypeWarning, Reason: "Failed",
	}
}

// TestLocalOf: a provider can tell only of what it was given, whatever its objects say of themselves.
func TestLocalOf(t *testing.T) {
	mark := provenance.Mark{Origin: "origin", ClusterID: "eu"}
	meta := func(namespace, name string, uid types.UID) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: uid}
	}
	copied := func(name string, of types.UID, change ...func(*metav1.ObjectMeta)) metav1.ObjectMeta {
		m := meta("there", name, "remote")
		m.Labels, m.Annotations = mark.Labels(), map[string]string{
			v1alpha1.AnnotationLocalNamespace: "team", v1alpha1.AnnotationLocalName: "web", v1alpha1.AnnotationLocalUID: string(of),
		}
		for _, c := range change {
			c(&m)
		}
		return m
	}
	web := meta("team", "web", "local")
	catalogue := &held{objects: []client.Object{&corev1.Service{ObjectMeta: web}}}
	view := &held{objects: []client.Object{&corev1.Pod{ObjectMeta: web}}} // No claim: none is protected for the provider.
	isCopy := func(_ engine.Registration, local, remote types.NamespacedName) bool {
		return local == types.NamespacedName{Namespace: "team", Name: "web"} && remote == types.NamespacedName{Namespace: "there", Name: "web"}
	}
	for name, test := range map[string]struct {
		kind   string
		remote client.Object
		want   bool
	}{
		"a pod":                                {"Pod", &corev1.Pod{ObjectMeta: copied("web", "local")}, true},
		"a Service":                            {"Service", &corev1.Service{ObjectMeta: copied("web", "local")}, true},
		"a claim that was not sent":            {"PersistentVolumeClaim", &corev1.PersistentVolumeClaim{ObjectMeta: copied("web", "local")}, false},
		"where the copy of another Service is": {"Service", &corev1.Service{ObjectMeta: copied("other", "local")}, false},
		"an earlier Service of that name":      {"Service", &corev1.Service{ObjectMeta: copied("web", "earlier")}, false},
		"a Service that is none of ours":       {"Service", &corev1.Service{ObjectMeta: copied("web", "local", func(m *metav1.ObjectMeta) { m.Labels = nil })}, false},
		"another Service than warned of":       {"Service", &corev1.Service{ObjectMeta: copied("web", "local", func(m *metav1.ObjectMeta) { m.UID = "later" })}, false},
		"nothing":                              {"Service", &corev1.Pod{ObjectMeta: copied("web", "local")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := &reconciler{
				Connection: engine.Connection{Mark: mark, View: &views.View{Cache: view}, ClusterWide: catalogue, IsCopy: isCopy},
				kinds:      kinds(t), remote: &held{objects: []client.Object{test.remote}},
			}
			target := podevent.Target{Kind: test.kind, NamespacedName: client.ObjectKeyFromObject(test.remote), UID: "remote"}
			got, err := c.localOf(t.Context(), target)
			if err != nil {
				t.Fatal(err)
			}
			var want *corev1.ObjectReference
			if test.want {
				want = &corev1.ObjectReference{APIVersion: "v1", Kind: test.kind, Namespace: "team", Name: "web", UID: "local"}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if kinds(t)["PersistentVolume"] != nil {
		t.Error("what is in no namespace is looked for")
	}
}

// TestShownOn: the events of one provider about a Service take no room of another one's.
func TestShownOn(t *testing.T) {
	of := func(clusterID string) []string {
		plan := podevent.Decide(podevent.Snapshot{
			ClusterID: clusterID, Local: corev1.ObjectReference{Kind: "Service", Name: "web", UID: "local"}, Reported: []podevent.Occurrence{{ID: "a", Count: 1}},
		})
		trimmed, err := trim(plan.Create[0])
		if err != nil {
			t.Fatal(err)
		}
		return indexed(trimmed.(*corev1.Event))
	}
	if diff := cmp.Diff([][]string{{shownOn("local", "eu")}, {shownOn("local", "us")}}, [][]string{of("eu"), of("us")}); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
