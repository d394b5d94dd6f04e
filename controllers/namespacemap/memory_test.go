package namespacemap

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/flowcontrol"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

func TestConflictsAreForgotten(t *testing.T) {
	o := newOutcomes(time.Second, time.Minute)
	now := builder.Epoch
	for _, forget := range []func(){
		func() { o.clear("eu", "r") }, func() { o.backingOff("eu", sets.New("s")) }, func() { o.forget("eu") },
	} {
		o.conflicts.Note(key("eu", "r"), now)
		o.conflicts.Note(key("us", "r"), now)
		forget()
		now = now.Add(9 * time.Second)
		if o.conflicts.Note(key("eu", "r"), now) {
			t.Error("a conflict of what is over counts")
		}
		if !o.conflicts.Note(key("us", "r"), now) {
			t.Error("conflicts of another binding are forgotten")
		}
	}
}

func TestServerErrorsWaitNoLongerThanOthers(t *testing.T) {
	clock := testclock.NewFakeClock(builder.Epoch)
	o := newOutcomes(10*time.Second, time.Minute)
	o.backoff = flowcontrol.NewFakeBackOff(10*time.Second, time.Minute, clock)
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

func TestOutcomes(t *testing.T) {
	clock := testclock.NewFakeClock(builder.Epoch)
	o := newOutcomes(10*time.Second, time.Minute)
	o.backoff = flowcontrol.NewFakeBackOff(10*time.Second, time.Minute, clock)
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

// provider stands for a connection; no two are the same.
type provider struct {
	cluster.Cluster
	_ int
}

func TestAssumptions(t *testing.T) {
	first, second := &provider{}, &provider{}
	created := namespacemap.RemoteNamespace{Name: "r", UID: "1", LocalNamespace: "a"}
	gone := created
	gone.Terminating = true
	at := func(d time.Duration) time.Time { return builder.Epoch.Add(d) }
	type remotes = map[string]namespacemap.RemoteNamespace
	tests := map[string]struct {
		note     func(*assumptions)
		provider cluster.Cluster
		now      time.Time
		cached   remotes
		want     remotes
		kept     int // How much is remembered afterwards.
		next     time.Duration
	}{
		"nothing":                               {func(*assumptions) {}, first, at(0), remotes{"r": created}, remotes{"r": created}, 0, 0},
		"created, and not shown":                {func(a *assumptions) { a.noteCreated("eu", first, created, at(0)) }, first, at(time.Second), remotes{}, remotes{"r": created}, 1, 29 * time.Second},
		"created, and shown":                    {func(a *assumptions) { a.noteCreated("eu", first, created, at(0)) }, first, at(time.Second), remotes{"r": gone}, remotes{"r": gone}, 0, 0},
		"created, and not shown for long":       {func(a *assumptions) { a.noteCreated("eu", first, created, at(0)) }, first, at(31 * time.Second), remotes{}, remotes{}, 0, 0},
		"created through an earlier connection": {func(a *assumptions) { a.noteCreated("eu", first, created, at(0)) }, second, at(time.Second), remotes{}, remotes{}, 0, 0},
		"created through another binding":       {func(a *assumptions) { a.noteCreated("us", first, created, at(0)) }, first, at(time.Second), remotes{}, remotes{}, 0, 0},
		"deleted, and not shown":                {func(a *assumptions) { a.noteDeleted("eu", first, "1", at(0)) }, first, at(time.Second), remotes{"r": created}, remotes{"r": gone}, 1, 29 * time.Second},
		"deleted, and shown as going":           {func(a *assumptions) { a.noteDeleted("eu", first, "1", at(0)) }, first, at(time.Second), remotes{"r": gone}, remotes{"r": gone}, 0, 0},
		"deleted, and gone":                     {func(a *assumptions) { a.noteDeleted("eu", first, "1", at(0)) }, first, at(time.Second), remotes{}, remotes{}, 0, 0},
		"deleted, and made again by another":    {func(a *assumptions) { a.noteDeleted("eu", first, "0", at(0)) }, first, at(time.Second), remotes{"r": created}, remotes{"r": created}, 0, 0},
		"deleted, and not shown for long":       {func(a *assumptions) { a.noteDeleted("eu", first, "1", at(0)) }, first, at(31 * time.Second), remotes{"r": created}, remotes{"r": created}, 0, 0},
		"created and deleted, and neither shown": {func(a *assumptions) {
			a.noteCreated("eu", first, created, at(0))
			a.noteDeleted("eu", first, "1", at(time.Second))
		}, first, at(2 * time.Second), remotes{}, remotes{"r": gone}, 2, 28 * time.Second},
		"forgotten": {func(a *assumptions) { a.noteCreated("eu", first, created, at(0)); a.forget("eu") }, first, at(0), remotes{}, remotes{}, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var a assumptions
			test.note(&a)
			next := a.overlay("eu", test.provider, test.cached, test.now)
			if diff := cmp.Diff(test.want, test.cached, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
			if kept := a.byBinding["eu"]; len(kept.created)+len(kept.deleted) != test.kept || next != test.next {
				t.Errorf("it remembers %v and %v until %v, want %d until %v", kept.created, kept.deleted, next, test.kept, test.next)
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
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := object(func(*corev1.Namespace) {})
			if got := remoteChanges().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: object(test.change)}); got != test.want {
				t.Errorf("passes: %v", got)
			}
		})
	}
}
