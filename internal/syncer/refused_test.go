package syncer

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"

	"github.com/spillway-io/spillway/internal/decide"
	fixture "github.com/spillway-io/spillway/internal/decide/decidetest"
	"github.com/spillway-io/spillway/internal/kind"
)

// copier is the controller of a kind that is copied, with what it tells.
func copier() (*kindController[*corev1.ConfigMap], *events.FakeRecorder, *testclock.FakeClock) {
	m, clock := testMemory()
	recorder := events.NewFakeRecorder(10)
	c := &kindController[*corev1.ConfigMap]{
		Kind: kind.NewCopied("configmap", func() *corev1.ConfigMap { return &corev1.ConfigMap{} }, nil, decide.Translation[*corev1.ConfigMap](fixture.Plain{}), nil),
		pair: &pair{clusterID: "eu", clock: clock, events: recorder}, memory: m,
	}
	c.kinds = map[string]attached{"configmap": c}
	return c, recorder, clock
}

func told(recorder *events.FakeRecorder) []string {
	var all []string
	for len(recorder.Events) > 0 {
		reason, _, _ := strings.Cut(strings.TrimPrefix(<-recorder.Events, "Warning "), " ")
		all = append(all, reason)
	}
	return all
}

// TestOwnersOfCopiesAreTold: of a change or a deletion that is refused, once for each
// version of the object, however often it is tried.
func TestOwnersOfCopiesAreTold(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "settings", nil)
	internal := apierrors.NewInternalError(errors.New("failed calling webhook"))
	for name, test := range map[string]struct {
		action decide.Action
		err    error
		want   []string
	}{
		"a creation is told by what waits": {decide.Action{Verb: decide.Create, Side: decide.Remote, Object: fixture.Remote()}, forbidden, nil},
		"a change":                         {decide.Action{Verb: decide.Patch, Side: decide.Remote, Object: fixture.Remote()}, forbidden, []string{"UpdateRejected"}},
		"a change that fails":              {decide.Action{Verb: decide.Patch, Side: decide.Remote, Object: fixture.Remote()}, internal, []string{"ServerError"}},
		"a deletion":                       {decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: fixture.Remote()}, forbidden, []string{"DeletionFailed"}},
		"a deletion that fails":            {decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: fixture.Remote()}, internal, []string{"ServerError"}},
		"the mark":                         {decide.Action{Verb: decide.Patch, Side: decide.Local, Object: fixture.Local()}, forbidden, []string{"UpdateRejected"}},
	} {
		t.Run(name, func(t *testing.T) {
			c, recorder, clock := copier()
			s := fixture.Wanted(fixture.Local(), fixture.Remote())
			for range 10 {
				_ = c.failed(t.Context(), s, test.action, test.err) // Nil as soon as it is remembered.
				clock.Step(2 * time.Second)
			}
			if diff := cmp.Diff(test.want, told(recorder)); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			s.Local.ResourceVersion = "6"
			_ = c.failed(t.Context(), s, test.action, test.err)
			if diff := cmp.Diff(test.want, told(recorder)); diff != "" {
				t.Errorf("told of another version (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRefusedDeletionOfACopyWaits: it is tried again, but not in each pass.
func TestRefusedDeletionOfACopyWaits(t *testing.T) {
	c, _, clock := copier()
	s := fixture.Wanted(fixture.Local(fixture.SentTo("eu", "team-home/settings")), fixture.Remote(), fixture.Unwanted)
	deletes := func() (plan decide.Plan, n int) {
		plan = c.effective(s, nil)
		return plan, len(plan.Actions)
	}
	plan, n := deletes()
	if n != 1 || plan.Actions[0].Verb != decide.Delete {
		t.Fatalf("the plan is %v", plan)
	}
	c.refuse(s, plan.Actions[0], decide.Problem{Reason: "DeletionFailed", Message: "no"})
	for range 10 {
		plan, n = deletes()
		if n != 0 || plan.RetryAfter <= 0 || plan.RetryAfter > 30*time.Second || plan.Problem == nil {
			t.Fatalf("the plan is %v", plan)
		}
		clock.Step(plan.RetryAfter)
		if plan, n = deletes(); n != 1 {
			t.Fatalf("it is not tried again: %v", plan)
		}
		c.refuse(s, plan.Actions[0], decide.Problem{Reason: "DeletionFailed", Message: "no"})
	}
}

// TestRefusedMarkIsToldAndWaits: what the consumer refuses is no secret either.
func TestRefusedMarkIsToldAndWaits(t *testing.T) {
	c, _, _ := copier()
	s := fixture.Wanted(fixture.Local(), nil)
	plan := c.effective(s, nil)
	if len(plan.Actions) != 1 || plan.Actions[0].Side != decide.Local {
		t.Fatalf("the plan is %v", plan)
	}
	c.refuse(s, plan.Actions[0], decide.Problem{Reason: "UpdateRejected", Message: "no"})
	c.observeRefusals(&s)
	plan = c.effective(s, nil)
	if len(plan.Actions) != 0 || plan.Problem == nil || plan.Problem.Message != "no" || plan.RetryAfter <= 0 {
		t.Errorf("the plan is %v", plan)
	}
}

// TestOutdated: a running pod finds out about a refused change of what it uses, in
// its place, and of nothing else.
func TestOutdated(t *testing.T) {
	c, _, _ := copier()
	here := decide.Place{Target: fixture.Target, Local: "team", Open: true}
	refs := []decide.Ref{{Kind: "configmap", NamespacedName: types.NamespacedName{Namespace: "team", Name: "settings"}}}
	if c.pair.anyRefused() || c.pair.outdated(refs, here) != nil {
		t.Error("nothing is refused")
	}
	s := fixture.Wanted(fixture.Local(), fixture.Remote())
	c.refuse(s, decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: fixture.Remote()}, decide.Problem{Reason: "DeletionFailed", Message: "no"})
	if c.pair.outdated(refs, here) != nil {
		t.Error("a deletion is not told to what uses it no more")
	}
	c.refuse(s, decide.Action{Verb: decide.Patch, Side: decide.Remote, Object: fixture.Remote()}, decide.Problem{Reason: "UpdateRejected", Message: "no"})
	want := &decide.Problem{Reason: "UpdateRejected", Message: "ConfigMap team/settings: no"}
	if diff := cmp.Diff(want, c.pair.outdated(refs, here)); diff != "" || !c.pair.anyRefused() {
		t.Errorf("outdated (-want +got):\n%s", diff)
	}
	elsewhere := here
	elsewhere.Namespace = "mount"
	if c.pair.outdated(refs, elsewhere) != nil {
		t.Error("it is not about the copy in another namespace")
	}
}
