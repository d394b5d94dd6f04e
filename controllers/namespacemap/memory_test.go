package namespacemap

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/ownwrites"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestConflictsAreForgotten(t *testing.T) {
	clock := testclock.NewFakeClock(builder.Epoch)
	o := newOutcomes(time.Second, time.Minute, clock)
	for _, forget := range []func(){
		func() { o.clear("eu", "r") }, func() { o.backingOff("eu", sets.New("s")) }, func() { o.forget("eu") },
	} {
		o.conflict("eu", "r")
		o.conflict("us", "r")
		forget()
		clock.Step(9 * time.Second)
		if o.conflict("eu", "r") {
			t.Error("a conflict of what is over counts")
		}
		if !o.conflict("us", "r") {
			t.Error("conflicts of another binding are forgotten")
		}
	}
}

func TestServerErrorsWaitNoLongerThanOthers(t *testing.T) {
	clock := testclock.NewFakeClock(builder.Epoch)
	o := newOutcomes(10*time.Second, time.Minute, clock)
	outcome := namespacemap.Outcome{Phase: v1alpha1.MappingCreationLoopBackOff, Reason: v1alpha1.ReasonServerError}
	for range 10 {
		o.refused("eu", "r", outcome)
		_, wait := o.backingOff("eu", sets.New("r"))
		if wait > 30*time.Second {
			t.Errorf("it waits for %v, and nothing will say that it is over", wait)
		}
		clock.Step(wait)
	}
	if got, ok := o.last("eu", "r", outcome.Phase); !ok || got != outcome {
		t.Errorf("remembered is %v, %v", got, ok)
	}
	if _, ok := o.last("eu", "r", v1alpha1.MappingTerminating); ok {
		t.Error("it is remembered of a deletion")
	}
	o.clear("eu", "r")
	if _, ok := o.last("eu", "r", outcome.Phase); ok {
		t.Error("it is remembered after a success")
	}
}

// TestLastClaim: a remote namespace that waits for its volumes is not asked again and again, and at once when the
// last one is gone.
func TestLastClaim(t *testing.T) {
	clock := testclock.NewFakeClock(builder.Epoch)
	o := newOutcomes(firstRetry, mostRetry, clock)
	o.refused("eu", "r", namespacemap.Outcome{Reason: v1alpha1.ReasonVolumesRemain})
	o.refused("eu", "s", namespacemap.Outcome{Reason: v1alpha1.ReasonDeletionFailed})
	waits := func() (all []string) {
		waiting, _ := o.backingOff("eu", sets.New("r", "s"))
		return slices.Sorted(maps.Keys(waiting))
	}
	clock.Step(mostRetry)
	if got := waits(); !slices.Equal(got, []string{"r"}) {
		t.Errorf("after a while, %v wait", got)
	}
	if !o.settled("r") || len(waits()) > 0 {
		t.Error("it still waits")
	}
	o.refused("eu", "s", namespacemap.Outcome{Reason: v1alpha1.ReasonDeletionFailed})
	if o.settled("s") || len(waits()) == 0 {
		t.Error("what waits for something else is tried at once")
	}
}

// TestLastClaimInMountNamespace: a mount namespace waits no longer for its volumes than any other.
func TestLastClaimInMountNamespace(t *testing.T) {
	clock := testclock.NewFakeClock(builder.Epoch)
	r := &Reconciler{outcomes: newOutcomes(firstRetry, mostRetry, clock), mounts: newOutcomes(firstMountRetry, mostMountRetry, clock)}
	for _, about := range []*outcomes{r.outcomes, r.mounts} {
		about.refused("eu", "r", namespacemap.Outcome{Reason: v1alpha1.ReasonVolumesRemain})
		if waits := func() bool { waiting, _ := about.backingOff("eu", sets.New("r")); return len(waiting) > 0 }; !waits() || !settled(r, "r") || waits() {
			t.Errorf("of mount namespaces: %v: it did not wait, or still waits", about == r.mounts)
		}
	}
}

func TestOutcomes(t *testing.T) {
	clock := testclock.NewFakeClock(builder.Epoch)
	o := newOutcomes(10*time.Second, time.Minute, clock)
	refused := namespacemap.Outcome{Phase: v1alpha1.MappingCreationLoopBackOff, Reason: "X"}
	asks := sets.New("r")
	expect := func(when string, binding string, asked sets.Set[string], waits bool, first time.Duration) {
		t.Helper()
		got, until := o.backingOff(binding, asked)
		want := map[string]namespacemap.Outcome{}
		if waits {
			want["r"] = refused
		}
		if diff := cmp.Diff(want, got); diff != "" || until != first {
			t.Errorf("%s: the first after %v, want %v\n%s", when, until, first, diff)
		}
	}

	expect("at first", "eu", asks, false, 0)
	o.refused("eu", "r", refused)
	expect("refused", "eu", asks, true, 10*time.Second)
	expect("of another binding", "us", asks, false, 0)
	clock.Step(10 * time.Second)
	expect("due", "eu", asks, false, 0)
	o.refused("eu", "r", refused)
	expect("refused again", "eu", asks, true, 20*time.Second)
	for range 5 {
		clock.Step(time.Minute)
		o.refused("eu", "r", refused)
	}
	expect("refused often", "eu", asks, true, time.Minute)
	o.clear("eu", "r")
	expect("succeeded", "eu", asks, false, 0)
	o.refused("eu", "r", refused)
	expect("refused after that", "eu", asks, true, 10*time.Second)
	expect("asked for under another name", "eu", sets.New("other"), false, 0)
	expect("and under the first again: forgotten", "eu", asks, false, 0)
	o.refused("eu", "r", refused)
	expect("not asked for", "eu", nil, false, 0)
	o.refused("eu", "r", refused)
	o.forget("eu")
	expect("the binding is gone", "eu", asks, false, 0)
	if len(o.byBinding["eu"]) > 0 {
		t.Error("something is kept of it")
	}
}

// shown is a provider's cache.
type shown struct {
	client.Reader
	namespaces map[string]*corev1.Namespace
}

func (s shown) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	found, ok := s.namespaces[key.Name]
	if !ok {
		return apierrors.NewNotFound(corev1.Resource("namespaces"), key.Name)
	}
	*into.(*corev1.Namespace) = *found
	return nil
}

func TestWritten(t *testing.T) {
	namespace := func(version string) *corev1.Namespace {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "1", ResourceVersion: version,
			Annotations: provenance.NamespaceAnnotations("a", "uid-of-a")}}
	}
	there := namespacemap.RemoteNamespace{Name: "r", UID: "1", LocalNamespace: "a", LocalUID: "uid-of-a"}
	going := there
	going.Terminating = true
	for name, test := range map[string]struct {
		note   func(*ownwrites.Reader)
		after  time.Duration
		cached *corev1.Namespace
		want   []namespacemap.RemoteNamespace
		again  time.Duration
	}{
		"nothing was written":     {note: func(*ownwrites.Reader) {}, cached: namespace("7"), want: []namespacemap.RemoteNamespace{there}},
		"created, and not shown":  {note: func(r *ownwrites.Reader) { r.Expect(namespace("7")) }, want: []namespacemap.RemoteNamespace{there}, again: ownwrites.Lifetime},
		"created, and never seen": {note: func(r *ownwrites.Reader) { r.Expect(namespace("7")) }, after: ownwrites.Lifetime + 1},
		"deleted, and not shown": {note: func(r *ownwrites.Reader) { r.ExpectTerminating(namespace(""), nil) }, cached: namespace("7"),
			want: []namespacemap.RemoteNamespace{going}, again: ownwrites.Lifetime},
		"deleted, and gone": {note: func(r *ownwrites.Reader) { r.ExpectTerminating(namespace(""), nil) }},
		"created and deleted, and neither shown": {note: func(r *ownwrites.Reader) { r.Expect(namespace("7")); r.ExpectTerminating(namespace(""), nil) },
			want: []namespacemap.RemoteNamespace{going}, again: ownwrites.Lifetime},
		"gone, and still listed": {note: func(r *ownwrites.Reader) { r.ExpectDeleted(namespace("7")) }, cached: namespace("7")},
	} {
		t.Run(name, func(t *testing.T) {
			cache, listed := shown{namespaces: map[string]*corev1.Namespace{}}, map[string]namespacemap.RemoteNamespace{}
			if test.cached != nil {
				cache.namespaces["r"], listed["r"] = test.cached, remoteNamespace(test.cached)
			}
			clock := testclock.NewFakePassiveClock(builder.Epoch)
			seen := ownwrites.New(cache, clock)
			test.note(seen)
			clock.SetTime(builder.Epoch.Add(test.after))
			again, err := written(t.Context(), seen, listed)
			if diff := cmp.Diff(test.want, slices.Collect(maps.Values(listed))); diff != "" || err != nil || again != test.again {
				t.Errorf("again after %v, want %v; %v (-want +got)\n%s", again, test.again, err, diff)
			}
		})
	}
}

func TestRemoteChanges(t *testing.T) {
	object := func(change func(*corev1.Namespace)) *corev1.Namespace {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "1", Labels: map[string]string{}, Annotations: map[string]string{}}}
		change(namespace)
		return namespace
	}
	label := func(key string) func(*corev1.Namespace) { return func(n *corev1.Namespace) { n.Labels[key] = "x" } }
	note := func(key string) func(*corev1.Namespace) {
		return func(n *corev1.Namespace) { n.Annotations[key] = "x" }
	}
	tests := map[string]struct {
		change func(*corev1.Namespace)
		want   bool
	}{
		"nothing":             {func(*corev1.Namespace) {}, false},
		"somebody's label":    {label("theirs"), false},
		"somebody's note":     {note("theirs"), false},
		"its status":          {func(n *corev1.Namespace) { n.Status.Phase = corev1.NamespaceActive }, false},
		"it is another":       {func(n *corev1.Namespace) { n.UID = "2" }, true},
		"it is going":         {func(n *corev1.Namespace) { n.DeletionTimestamp = &metav1.Time{Time: builder.Epoch} }, true},
		"who manages it":      {label(v1alpha1.LabelManagedBy), true},
		"its origin":          {label(v1alpha1.LabelOrigin), true},
		"its binding":         {label(v1alpha1.LabelBinding), true},
		"its local namespace": {note(v1alpha1.AnnotationLocalNamespace), true},
		"its local UID":       {note(v1alpha1.AnnotationLocalUID), true},
	}
	held := object(func(n *corev1.Namespace) { n.DeletionTimestamp = &metav1.Time{Time: builder.Epoch} })
	told := held.DeepCopy()
	told.Status.Conditions = []corev1.NamespaceCondition{{Type: corev1.NamespaceContentRemaining, Status: corev1.ConditionTrue, Message: "x"}}
	if !remoteChanges(held, told) {
		t.Error("why it does not go does not pass")
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := object(func(*corev1.Namespace) {})
			if got := remoteChanges(before, object(test.change)); got != test.want {
				t.Errorf("passes: %v", got)
			}
		})
	}
}
