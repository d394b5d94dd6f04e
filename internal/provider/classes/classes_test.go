package classes

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/gather"
)

const there, missing, unread, unknown = field.ClassThere, field.ClassMissing, field.ClassUnread, field.ClassUnknown

func to(kind v1alpha1.ClassKind, names ...string) (all []v1alpha1.ClassMapping) {
	for _, name := range names {
		all = append(all, v1alpha1.ClassMapping{Kind: kind, Name: "local-" + name, RemoteName: name})
	}
	return all
}

func priorityClass(name string, value int32) *schedulingv1.PriorityClass {
	return &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
}

// asking has classes of a provider that has not answered.
func asking(t *testing.T, mapped ...v1alpha1.ClassMapping) (*Classes, *clocktesting.FakeClock) {
	t.Helper()
	now := clocktesting.NewFakeClock(time.Now())
	silent := roundTrip(func(req *http.Request) (*http.Response, error) {
		<-req.Context().Done()
		return nil, req.Context().Err()
	})
	c := New(&rest.Config{Host: "https://provider.example.com"}, &http.Client{Transport: silent}, now)
	c.Want(t.Context(), mapped)
	return c, now
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

// TestHas: a class is there, or is not, once the provider has answered.
func TestHas(t *testing.T) {
	priorities := schema.GroupResource{Group: schedulingv1.GroupName, Resource: "priorityclasses"}
	a, b := priorityClass("a", 1), priorityClass("b", 2)
	list := func(all ...any) func(*watched) { return func(w *watched) { _ = w.Replace(all, "") } }
	fail := func(err error) func(*watched) { return func(w *watched) { w.failed(err) } }
	for name, test := range map[string]struct {
		answers []func(*watched)
		want    field.Presence // Of a.
	}{
		"no answer":                 {nil, unread},
		"it is listed":              {[]func(*watched){list(a, b)}, there},
		"others are listed":         {[]func(*watched){list(b)}, missing},
		"it comes":                  {[]func(*watched){list(), func(w *watched) { _ = w.Add(a) }}, there},
		"it goes":                   {[]func(*watched){list(a), func(w *watched) { _ = w.Delete(a) }}, missing},
		"it is not listed again":    {[]func(*watched){list(a), list()}, missing},
		"no right":                  {[]func(*watched){fail(apierrors.NewForbidden(priorities, "", nil))}, unknown},
		"an authorizer before":      {[]func(*watched){fail(apierrors.NewInternalError(errors.New("it does not answer")))}, unknown},
		"a provider without it":     {[]func(*watched){fail(apierrors.NewNotFound(priorities, ""))}, unknown},
		"asked too much":            {[]func(*watched){fail(apierrors.NewTooManyRequestsError("later"))}, unread},
		"the right was taken away":  {[]func(*watched){list(a), fail(apierrors.NewForbidden(priorities, "", nil))}, unknown},
		"the right was given":       {[]func(*watched){fail(apierrors.NewForbidden(priorities, "", nil)), list()}, missing},
		"a broken API server later": {[]func(*watched){list(b), fail(apierrors.NewInternalError(errors.New("a leader changed")))}, missing},
		"an error after the answer": {[]func(*watched){list(a), fail(errors.New("broken"))}, there},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := asking(t, to(v1alpha1.ClassPriority, "a")...)
			for _, answer := range test.answers {
				answer(c.watched[v1alpha1.ClassPriority])
			}
			if got := c.Has(v1alpha1.ClassPriority, "a"); got != test.want {
				t.Errorf("it is %q, want %q", got, test.want)
			}
			if len(c.watched[v1alpha1.ClassPriority].found) > 1 {
				t.Error("it keeps what nobody maps to")
			}
		})
	}
	c, _ := asking(t)
	for kind, want := range map[v1alpha1.ClassKind]field.Presence{v1alpha1.ClassRuntime: unread, v1alpha1.ClassLoadBalancer: unknown} {
		if got := c.Has(kind, "a"); got != want {
			t.Errorf("a %s that is not mapped to is %q, want %q", kind, got, want)
		}
	}
	c = nil
	if c.Want(t.Context(), nil); c.Has(v1alpha1.ClassRuntime, "a") != unknown {
		t.Error("what nobody asks for is known")
	}
}

// TestStorage: of a StorageClass, others get what its volumes are like, as Kubernetes understands it.
func TestStorage(t *testing.T) {
	type policy = corev1.PersistentVolumeReclaimPolicy
	type mode = storagev1.VolumeBindingMode
	for name, test := range map[string]struct {
		class storagev1.StorageClass
		want  field.Storage
	}{
		"says nothing":     {storagev1.StorageClass{}, field.Storage{Reclaim: "Delete", Binding: "Immediate"}},
		"says all":         {storagev1.StorageClass{ReclaimPolicy: ptr.To[policy]("Retain"), VolumeBindingMode: ptr.To[mode]("WaitForFirstConsumer"), AllowVolumeExpansion: ptr.To(true)}, field.Storage{Reclaim: "Retain", Binding: "WaitForFirstConsumer", Expands: true}},
		"says the default": {storagev1.StorageClass{ReclaimPolicy: ptr.To[policy]("Delete"), VolumeBindingMode: ptr.To[mode]("Immediate"), AllowVolumeExpansion: ptr.To(false)}, field.Storage{Reclaim: "Delete", Binding: "Immediate"}},
		"says nonsense":    {storagev1.StorageClass{ReclaimPolicy: ptr.To[policy]("Recycle"), VolumeBindingMode: ptr.To[mode]("Later")}, field.Storage{Reclaim: "Retain", Binding: "Immediate"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, now := asking(t, append(to(v1alpha1.ClassStorage, "fast"), to(v1alpha1.ClassVolumeAttributes, "gold", "lead")...)...)
			test.class.Name = "fast"
			_ = c.watched[v1alpha1.ClassStorage].Replace([]any{&test.class}, "")
			_ = c.watched[v1alpha1.ClassVolumeAttributes].Replace([]any{&storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: "gold"}}}, "")
			now.Step(notifyInterval)
			want := connection.Classes{{Kind: v1alpha1.ClassStorage, Name: "fast", Presence: there, Storage: test.want},
				{Kind: v1alpha1.ClassVolumeAttributes, Name: "gold", Presence: there}, {Kind: v1alpha1.ClassVolumeAttributes, Name: "lead", Presence: missing}}
			if diff := cmp.Diff(want, *c.All()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestWant: what is mapped to is watched, and nothing else.
func TestWant(t *testing.T) {
	c, _ := asking(t)
	var before map[v1alpha1.ClassKind]*watched
	for _, step := range []struct {
		mapped    []v1alpha1.ClassMapping
		want, new int
	}{
		{nil, 0, 0},
		{to(v1alpha1.ClassLoadBalancer, "nlb"), 0, 0},
		{to(v1alpha1.ClassIngress, "public", "public"), 1, 1},
		{append(to(v1alpha1.ClassIngress, "public"), to(v1alpha1.ClassRuntime, "gvisor")...), 2, 1},
		{append(to(v1alpha1.ClassIngress, "public", "private"), to(v1alpha1.ClassRuntime, "gvisor")...), 2, 1},
		{to(v1alpha1.ClassRuntime, "gvisor"), 1, 0},
		{nil, 0, 0},
	} {
		c.Want(t.Context(), step.mapped)
		added := 0
		for kind, w := range c.watched {
			if before[kind] != w {
				added++
			}
		}
		if len(c.watched) != step.want || added != step.new {
			t.Errorf("of %v: %d are watched, %d anew", step.mapped, len(c.watched), added)
		}
		before = map[v1alpha1.ClassKind]*watched{}
		for kind, w := range c.watched {
			before[kind] = w
		}
	}
}

// TestFollow: followers are told once of what comes together, and nothing twice.
func TestFollow(t *testing.T) {
	c, now := asking(t, append(to(v1alpha1.ClassPriority, "a", "b"), to(v1alpha1.ClassRuntime, "gvisor")...)...)
	ctx, cancel := context.WithCancel(t.Context())
	told := 0
	c.Follow(ctx, func() { told++ })
	priorities, runtimes := c.watched[v1alpha1.ClassPriority], c.watched[v1alpha1.ClassRuntime]
	overhead := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")}
	expect := func(when string, times int, want ...connection.Class) {
		t.Helper()
		if now.Step(notifyInterval); told != times {
			t.Errorf("%s: told %d times, want %d", when, told, times)
		}
		if diff := cmp.Diff(connection.Classes(want), *c.All()); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	a, gone := connection.Class{Kind: v1alpha1.ClassPriority, Name: "a", Presence: there, Value: 7}, connection.Class{Kind: v1alpha1.ClassPriority, Name: "b", Presence: missing}
	gvisor := connection.Class{Kind: v1alpha1.ClassRuntime, Name: "gvisor", Presence: there, Overhead: overhead}

	_ = priorities.Replace([]any{priorityClass("a", 7), priorityClass("other", 1)}, "")
	_ = runtimes.Replace([]any{&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}, Handler: "runsc", Overhead: &nodev1.Overhead{PodFixed: overhead}}}, "")
	expect("the first answers", 1, a, gone, gvisor)
	_ = priorities.Update(priorityClass("a", 7))
	_ = priorities.Add(priorityClass("other", 2))
	expect("nothing new", 1, a, gone, gvisor)
	_ = priorities.Delete(priorityClass("a", 7))
	if now.Step(gather.Moment); told != 1 {
		t.Error("a provider may make everything be looked at twice a second")
	}
	expect("one is gone", 2, connection.Class{Kind: v1alpha1.ClassPriority, Name: "a", Presence: missing}, gone, gvisor)

	more := append(to(v1alpha1.ClassPriority, "a", "b"), to(v1alpha1.ClassRuntime, "gvisor", "kata")...)
	c.Want(t.Context(), more)
	c.Want(t.Context(), append(to(v1alpha1.ClassPriority, "a", "b"), to(v1alpha1.ClassRuntime, "gvisor")...))
	runtimes = c.watched[v1alpha1.ClassRuntime]
	_ = runtimes.Replace([]any{&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}, Handler: "runsc", Overhead: &nodev1.Overhead{PodFixed: overhead}}}, "")
	expect("a kind was asked for anew, with the same answer", 3, connection.Class{Kind: v1alpha1.ClassPriority, Name: "a", Presence: missing}, gone, gvisor)
	_ = runtimes.Replace([]any{&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}, Handler: "runsc", Overhead: &nodev1.Overhead{PodFixed: overhead}}}, "")
	expect("and nothing new after that", 3, connection.Class{Kind: v1alpha1.ClassPriority, Name: "a", Presence: missing}, gone, gvisor)

	c.Want(t.Context(), to(v1alpha1.ClassRuntime, "gvisor"))
	_ = priorities.Add(priorityClass("a", 7)) // It was on its way.
	expect("a kind is not mapped any more", 4, gvisor)
	cancel()
	_ = runtimes.Replace(nil, "")
	expect("after the connection", 4, connection.Class{Kind: v1alpha1.ClassRuntime, Name: "gvisor", Presence: missing})
}
