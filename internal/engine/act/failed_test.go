package act

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/engine/attempts"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/engine/enginetest"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

func actor() (*Actor[*corev1.ConfigMap], *enginetest.Rig) {
	rig := enginetest.New()
	return &Actor[*corev1.ConfigMap]{
		Kind: rig.Kind, ClusterID: "eu", Locals: rig.Locals, Remotes: rig.Remotes, Attempts: rig.Attempts, Refused: rig.Reporter.Refused, Clock: rig.Clock,
	}, rig
}

// TestRefusedDeletion is about a provider that refuses a deletion. If the local object exists, the refusal is
// remembered. Otherwise it is an error like any other.
func TestRefusedDeletion(t *testing.T) {
	forbidden := apierrors.NewForbidden(enginetest.Resource, "settings", nil)
	action := decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: fixture.Remote()}
	for name, local := range map[string]*corev1.ConfigMap{"there": fixture.Local(), "gone": nil} {
		t.Run(name, func(t *testing.T) {
			c, rig := actor()
			s := fixture.Observed(local, fixture.Remote())
			err := c.failed(t.Context(), s, action, forbidden)
			if (err != nil) != (local == nil) {
				t.Errorf("got the error %v", err)
			}
			if local != nil && rig.Attempts.Get(s.Key).Refusals.Of(attempts.Version(local), "team-home", rig.Clock.Now()) == nil {
				t.Error("the refusal is not remembered")
			}
		})
	}
}

// TestServerErrorsThatLast is about errors that say nothing about the request. They are reported if they last.
// They are remembered only if the next decision does not give up the action.
func TestServerErrorsThatLast(t *testing.T) {
	internal := apierrors.NewInternalError(errors.New("failed calling webhook"))
	unavailable := apierrors.NewServiceUnavailable("not ready")
	create := decide.Action{Verb: decide.Create, Side: decide.Remote, Object: fixture.Remote()}
	for name, test := range map[string]struct {
		action decide.Action
		err    error
		told   bool
	}{
		"a creation":               {create, internal, true},
		"a change":                 {decide.Action{Verb: decide.Patch, Side: decide.Remote, Object: fixture.Remote()}, internal, true},
		"a change of a part":       {decide.Action{Verb: decide.Patch, Side: decide.Remote, Object: fixture.Remote(), Subresource: "resize"}, internal, true},
		"a deletion":               {decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: fixture.Remote()}, internal, true},
		"a mark in the consumer":   {decide.Action{Verb: decide.Patch, Side: decide.Local, Object: fixture.Local()}, internal, false},
		"no server to answer well": {create, unavailable, false},
		"no answer to a write":     {create, &transport.TimeoutError{OthersAnswered: true}, true},
		"no answer to anything":    {create, &transport.TimeoutError{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c, rig := actor()
			s := fixture.Observed(fixture.Local(), nil)
			for second := range 6 {
				if err := c.failed(t.Context(), s, test.action, test.err); err == nil {
					t.Fatalf("it is told after %d seconds", second)
				}
				rig.Clock.Step(time.Second)
			}
			if err := c.failed(t.Context(), s, test.action, test.err); (err == nil) != test.told {
				t.Fatalf("got the error %v after a while", err)
			}
			if !test.told {
				return
			}
			if got := rig.Attempts.Get(s.Key).Refusals.Of(attempts.Version(s.Local), "team-home", rig.Clock.Now()); got == nil || got.Reason != v1alpha1.ReasonServerError {
				t.Fatalf("remembered is %v", got)
			}
			rig.Attempts.Succeeded(s.Key, decide.PatchStatus, "team-home")
			rig.Clock.Step(time.Minute)
			if err := c.failed(t.Context(), s, test.action, test.err); err != nil {
				t.Errorf("it is not told any more: %v", err)
			}
			rig.Attempts.Succeeded(s.Key, test.action.Verb, "team-home")
			if err := c.failed(t.Context(), s, test.action, test.err); err == nil {
				t.Error("it is told at once, after a success")
			}
		})
	}
}

// TestOwnersOfCopiesAreTold checks that owners are informed of a refused change or deletion once per version of
// the object, however often it is tried.
func TestOwnersOfCopiesAreTold(t *testing.T) {
	forbidden := apierrors.NewForbidden(enginetest.Resource, "settings", nil)
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
			c, rig := actor()
			s := fixture.Observed(fixture.Local(), fixture.Remote())
			for range 10 {
				_ = c.failed(t.Context(), s, test.action, test.err) // Nil as soon as it is remembered.
				rig.Clock.Step(2 * time.Second)
			}
			if diff := cmp.Diff(test.want, rig.Recorded()); diff != "" {
				t.Errorf("told (-want +got):\n%s", diff)
			}
			s.Local.ResourceVersion = "6"
			_ = c.failed(t.Context(), s, test.action, test.err)
			if diff := cmp.Diff(test.want, rig.Recorded()); diff != "" {
				t.Errorf("told of another version (-want +got):\n%s", diff)
			}
		})
	}
}

// TestANamespaceThatGoes checks that a terminating namespace causes no event per copy: Spillway recreates the
// namespace.
func TestANamespaceThatGoes(t *testing.T) {
	c, rig := actor()
	rig.Shares()
	err := apierrors.NewForbidden(enginetest.Resource, "settings", errors.New("it is being terminated"))
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	create := decide.Action{Verb: decide.Create, Side: decide.Remote, Object: fixture.Remote()}
	if c.failed(t.Context(), fixture.Observed(fixture.Local(), nil), create, err) == nil {
		t.Error("it is not tried again")
	}
	if told := rig.Recorded(); len(told) > 0 {
		t.Errorf("told: %v", told)
	}
}

// TestANameThatIsNotOursToSee is about a provider that lets Spillway read only its own objects.
func TestANameThatIsNotOursToSee(t *testing.T) {
	a := newActing()
	a.provider.Refuses = func(string, *corev1.ConfigMap) error {
		return apierrors.NewForbidden(enginetest.Resource, "settings", nil)
	}
	wanted := fixture.Remote()
	wanted.UID = ""
	s := fixture.Observed(fixture.Local(), nil)
	if err := a.find(t.Context(), s, wanted); err != nil || !a.rig.IsRefused(s.Key) {
		t.Errorf("it is not told, or is an error: %v", err)
	}
}

// TestReadIsNoSuccess checks that a creation that fails each time is reported, although its content is read
// before each attempt.
func TestReadIsNoSuccess(t *testing.T) {
	for what, err := range map[string]error{
		"server errors": apierrors.NewInternalError(errors.New("failed calling webhook")),
		"conflicts":     apierrors.NewConflict(enginetest.Resource, "settings", errors.New("a webhook says so")),
	} {
		t.Run(what, func(t *testing.T) {
			c, rig := actor()
			s := fixture.Observed(fixture.Local(fixture.Sent), nil)
			create := decide.Action{Verb: decide.Create, Side: decide.Remote, Object: fixture.Remote()}
			for range 20 {
				c.Attempts.Succeeded(s.Key, decide.Read, "")
				_ = c.failed(t.Context(), s, create, err) // Nil as soon as it is remembered.
				rig.Clock.Step(2 * time.Second)
			}
			if !rig.IsRefused(s.Key) {
				t.Error("nobody is told")
			}
		})
	}
}
