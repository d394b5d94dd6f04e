package ownwrites

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/testing/builder"
)

// shown is a cache with one pod, or none.
type shown struct {
	client.Reader
	pod *corev1.Pod
}

func (s shown) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if s.pod == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, key.Name)
	}
	*into.(*corev1.Pod) = *s.pod
	return nil
}

func pod(uid types.UID, version string, more ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: uid, ResourceVersion: version}}
	for _, change := range more {
		change(p)
	}
	return p
}

func leaving(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: builder.Epoch} }

func within(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.DeletionGracePeriodSeconds = &seconds }
}

// late is a cache that catches up just after its first read.
type late struct {
	shown
	catchUp func()
}

func (l *late) Get(ctx context.Context, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
	err := l.shown.Get(ctx, key, into, options...)
	if catchUp := l.catchUp; catchUp != nil {
		l.catchUp = nil
		catchUp()
	}
	return err
}

// Two readers read one object. One reads the cache before it shows a write. The other reads it afterwards,
// and so forgets the write. The first one must not conclude that the object is missing.
func TestCacheCatchesUpBetweenTwoReaders(t *testing.T) {
	key, cache := types.NamespacedName{Namespace: "team", Name: "web"}, &late{}
	r := New(cache, testclock.NewFakePassiveClock(builder.Epoch))
	r.Expect(pod("a", "7"))
	cache.catchUp = func() {
		cache.pod = pod("a", "8")
		second := &corev1.Pod{}
		if err := r.Get(t.Context(), key, second); err != nil || second.ResourceVersion != "8" {
			t.Errorf("the second reader got version %q and %v, want what the cache shows", second.ResourceVersion, err)
		}
	}
	first := &corev1.Pod{}
	if err := r.Get(t.Context(), key, first); err != nil || first.ResourceVersion != "7" {
		t.Errorf("the first reader got version %q and %v, want what was written", first.ResourceVersion, err)
	}
}

// seen is what a reader shows of the pod.
type seen struct {
	UID     types.UID
	Version string
	Leaving bool
}

func TestGet(t *testing.T) {
	none := seen{}
	for name, test := range map[string]struct {
		note  func(*Reader)
		after time.Duration
		cache *corev1.Pod
		want  seen
		// kept is set if the write is still remembered.
		kept bool
	}{
		"nothing was written":                     {cache: pod("a", "5"), want: seen{"a", "5", false}},
		"created, and the cache does not show it": {note: func(r *Reader) { r.Expect(pod("a", "7")) }, want: seen{"a", "7", false}, kept: true},
		"created, and the cache shows it":         {note: func(r *Reader) { r.Expect(pod("a", "7")) }, cache: pod("a", "7"), want: seen{"a", "7", false}},
		"patched, and the cache is behind":        {note: func(r *Reader) { r.Expect(pod("a", "10")) }, cache: pod("a", "9"), want: seen{"a", "10", false}, kept: true},
		"patched, and the cache is ahead":         {note: func(r *Reader) { r.Expect(pod("a", "9")) }, cache: pod("a", "10"), want: seen{"a", "10", false}},
		"replaced since":                          {note: func(r *Reader) { r.Expect(pod("a", "9")) }, cache: pod("b", "12"), want: seen{"b", "12", false}},
		"a version that cannot be compared":       {note: func(r *Reader) { r.Expect(pod("a", "9")) }, cache: pod("a", "x"), want: seen{"a", "x", false}},
		"not shown for half a minute":             {note: func(r *Reader) { r.Expect(pod("a", "7")) }, after: 30 * time.Second, want: seen{"a", "7", false}, kept: true},
		"never shown":                             {note: func(r *Reader) { r.Expect(pod("a", "7")) }, after: 30*time.Second + 1, want: none},
		"deleted in the meantime":                 {note: func(r *Reader) { r.Expect(pod("a", "7")); r.Forget(pod("a", "8")) }, want: none},
		"an older state has left the cache":       {note: func(r *Reader) { r.Expect(pod("a", "7")); r.Forget(pod("a", "6")) }, want: seen{"a", "7", false}, kept: true},
		"another one has left the cache":          {note: func(r *Reader) { r.Expect(pod("a", "7")); r.Forget(pod("b", "8")) }, want: seen{"a", "7", false}, kept: true},
		"a list as new as the write lacks it":     {note: func(r *Reader) { r.Expect(pod("a", "7")); r.Missing(pod("a", "6"), "7") }, want: none},
		"a list that is older than the write lacks it": {
			note: func(r *Reader) { r.Expect(pod("a", "7")); r.Missing(pod("a", "5"), "6") }, want: seen{"a", "7", false}, kept: true,
		},
		"a list lacks another one": {
			note: func(r *Reader) { r.Expect(pod("a", "7")); r.Missing(pod("b", "6"), "9") }, want: seen{"a", "7", false}, kept: true,
		},
		"dropped": {note: func(r *Reader) { r.Expect(pod("a", "7")); r.Drop(pod("a", "1")) }, want: none},
		"being deleted, and the cache shows it live":            {note: func(r *Reader) { r.ExpectTerminating(pod("a", "7"), ptr.To[int64](30)) }, cache: pod("a", "8"), want: seen{"a", "7", true}, kept: true},
		"being deleted, and the cache shows that":               {note: func(r *Reader) { r.ExpectTerminating(pod("a", "7"), nil) }, cache: pod("a", "8", leaving), want: seen{"a", "8", true}},
		"created and to go, and the cache has not shown it yet": {note: func(r *Reader) { r.Expect(pod("a", "7")); r.ExpectTerminating(pod("a", "7"), nil) }, want: seen{"a", "7", true}, kept: true},
		"created and to go, and never shown": {
			note: func(r *Reader) { r.Expect(pod("a", "7")); r.ExpectTerminating(pod("a", "7"), nil) }, after: 30*time.Second + 1, want: none},
		"created and to go, and it has come and gone": {
			note: func(r *Reader) {
				r.Expect(pod("a", "7"))
				r.ExpectTerminating(pod("a", "7"), nil)
				r.Forget(pod("a", "9"))
			}, want: none},
		"another one to go than was created":                 {note: func(r *Reader) { r.Expect(pod("a", "7")); r.ExpectTerminating(pod("b", "8"), nil) }, want: none},
		"to go sooner, and the cache shows the longer grace": {note: func(r *Reader) { r.ExpectTerminating(pod("a", "7"), ptr.To[int64](5)) }, cache: pod("a", "7", leaving, within(30)), want: seen{"a", "7", true}, kept: true},
		"to go sooner, and the cache shows that":             {note: func(r *Reader) { r.ExpectTerminating(pod("a", "7"), ptr.To[int64](5)) }, cache: pod("a", "8", leaving, within(5)), want: seen{"a", "8", true}},
		"to go, and the cache says no grace":                 {note: func(r *Reader) { r.ExpectTerminating(pod("a", "7"), ptr.To[int64](5)) }, cache: pod("a", "8", leaving), want: seen{"a", "8", true}},
		"to go by the default, and the cache says a grace":   {note: func(r *Reader) { r.ExpectTerminating(pod("a", "7"), nil) }, cache: pod("a", "8", leaving, within(30)), want: seen{"a", "8", true}},
		"to go, and then sooner, and gone": {note: func(r *Reader) {
			r.ExpectTerminating(pod("a", "7"), nil)
			r.ExpectTerminating(pod("a", "8"), ptr.To[int64](5))
		}, want: none},
		"created, to go, and then sooner, not shown yet": {
			note: func(r *Reader) {
				r.Expect(pod("a", "7"))
				r.ExpectTerminating(pod("a", "7"), nil)
				r.ExpectTerminating(pod("a", "8"), ptr.To[int64](5))
			}, want: seen{"a", "8", true}, kept: true},
		"one that was not written has left the cache": {note: func(r *Reader) { r.Forget(pod("a", "7")) }, want: none},
		"a list lacks one that was not written":       {note: func(r *Reader) { r.Missing(pod("a", "7"), "8") }, want: none},
		"a list of no version lacks it":               {note: func(r *Reader) { r.Expect(pod("a", "7")); r.Missing(pod("a", "7"), "x") }, want: seen{"a", "7", false}, kept: true},
		"being deleted, and gone":                     {note: func(r *Reader) { r.ExpectTerminating(pod("a", "7"), nil) }, want: none},
		"being deleted, and made again":               {note: func(r *Reader) { r.ExpectTerminating(pod("a", "7"), nil) }, cache: pod("b", "9"), want: seen{"b", "9", false}},
		"gone, and the cache shows it":                {note: func(r *Reader) { r.ExpectDeleted(pod("a", "7")) }, cache: pod("a", "9"), want: none, kept: true},
		"gone, and the cache shows another":           {note: func(r *Reader) { r.ExpectDeleted(pod("a", "7")) }, cache: pod("b", "9"), want: seen{"b", "9", false}},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(builder.Epoch)
			r := New(shown{pod: test.cache}, clock)
			if test.note != nil {
				test.note(r)
			}
			clock.SetTime(builder.Epoch.Add(test.after))
			key := types.NamespacedName{Namespace: "team", Name: "web"}
			got := &corev1.Pod{}
			err := r.Get(t.Context(), key, got)
			if (test.want == none) != apierrors.IsNotFound(err) || client.IgnoreNotFound(err) != nil {
				t.Fatalf("got the error %v", err)
			}
			if err != nil {
				got = &corev1.Pod{} // Nobody reads a result that comes with an error.
			}
			if diff := cmp.Diff(test.want, seen{got.UID, got.ResourceVersion, got.DeletionTimestamp != nil}); diff != "" {
				t.Errorf("seen (-want +got):\n%s", diff)
			}
			if kept := r.IsStale(&corev1.Pod{}, key); kept != test.kept {
				t.Errorf("remembered still: %t, want %t", kept, test.kept)
			}
		})
	}
}

// stopped is a cache that has stopped.
type stopped struct{ client.Reader }

var errStopped = errors.New("stopped")

func (stopped) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errStopped
}

// TestCacheThatHasStopped: a stopped cache does not count as one that shows nothing.
func TestCacheThatHasStopped(t *testing.T) {
	r := New(stopped{}, testclock.NewFakePassiveClock(builder.Epoch))
	r.Expect(pod("a", "7"))
	if err := r.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "web"}, &corev1.Pod{}); !errors.Is(err, errStopped) {
		t.Errorf("got %v", err)
	}
}

// TestHolding: the Reader keeps of written objects what the cache would.
func TestHolding(t *testing.T) {
	r := New(shown{}, testclock.NewFakePassiveClock(builder.Epoch)).WithTransform(func(obj any) any {
		held := obj.(*corev1.Pod).DeepCopy()
		held.Spec = corev1.PodSpec{}
		return held
	})
	r.Expect(pod("a", "7", func(p *corev1.Pod) { p.Spec.NodeName = "node" }))
	got := &corev1.Pod{}
	if err := r.Get(t.Context(), types.NamespacedName{Namespace: "team", Name: "web"}, got); err != nil || got.UID != "a" || got.Spec.NodeName != "" {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestKinds: metadata of different kinds, which has one type, is kept apart.
func TestKinds(t *testing.T) {
	r := New(shown{}, testclock.NewFakePassiveClock(builder.Epoch))
	metadata := func(kind string) *metav1.PartialObjectMetadata {
		m := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", UID: types.UID(kind)}}
		m.SetGroupVersionKind(schema.GroupVersionKind{Version: "v1", Kind: kind})
		return m
	}
	r.Expect(metadata("ConfigMap"))
	if r.IsStale(metadata("Secret"), types.NamespacedName{Namespace: "team", Name: "web"}) {
		t.Error("a ConfigMap that was written is taken for a Secret")
	}
	r.Expect(pod("a", "7"))
	if r.IsStale(&corev1.ConfigMap{}, types.NamespacedName{Namespace: "team", Name: "web"}) {
		t.Error("a Pod that was written is taken for a ConfigMap")
	}
	if diff := cmp.Diff([]types.NamespacedName{{Namespace: "team", Name: "web"}}, r.Unshown(&corev1.Pod{})); diff != "" {
		t.Errorf("Pods that the cache does not show (-want +got):\n%s", diff)
	}
	if names := r.Unshown(metadata("Secret")); len(names) > 0 {
		t.Errorf("Secrets that nobody has written: %v", names)
	}
}

// TestSaw checks which changes of the cache show this process's last write, and that the Reader then forgets it.
func TestSaw(t *testing.T) {
	for name, test := range map[string]struct {
		note        func(*Reader)
		shows       *corev1.Pod
		want, stale bool
	}{
		"nothing was written":             {func(*Reader) {}, pod("a", "7"), false, false},
		"what was written":                {func(r *Reader) { r.Expect(pod("a", "7")) }, pod("a", "7"), true, false},
		"late":                            {func(r *Reader) { r.Expect(pod("a", "7")) }, pod("a", "7"), false, false},
		"an older state":                  {func(r *Reader) { r.Expect(pod("a", "7")) }, pod("a", "6"), false, true},
		"what somebody has written":       {func(r *Reader) { r.Expect(pod("a", "7")) }, pod("a", "8"), false, false},
		"another one":                     {func(r *Reader) { r.Expect(pod("a", "7")) }, pod("b", "7"), false, false},
		"what was written before":         {func(r *Reader) { r.Expect(pod("a", "7")); r.Expect(pod("a", "8")) }, pod("a", "7"), false, true},
		"a deletion":                      {func(r *Reader) { r.ExpectTerminating(pod("a", "7"), nil) }, pod("a", "8", leaving), false, false},
		"what was written, and deleted":   {func(r *Reader) { r.Expect(pod("a", "7")); r.ExpectTerminating(pod("a", "7"), nil) }, pod("a", "7"), false, true},
		"what was written, and is gone":   {func(r *Reader) { r.Expect(pod("a", "7")); r.ExpectDeleted(pod("a", "7")) }, pod("a", "7"), false, true},
		"its successor, after it is gone": {func(r *Reader) { r.ExpectDeleted(pod("a", "7")) }, pod("b", "9"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := testclock.NewFakePassiveClock(builder.Epoch)
			r := New(nil, clock)
			test.note(r)
			if name == "late" {
				clock.SetTime(builder.Epoch.Add(Lifetime + 1))
			}
			if got := r.Saw(test.shows); got != test.want {
				t.Errorf("its own write: %t", got)
			}
			if stale := r.IsStale(test.shows, client.ObjectKeyFromObject(test.shows)); stale != test.stale {
				t.Errorf("the cache is behind: %t", stale)
			}
		})
	}
}
