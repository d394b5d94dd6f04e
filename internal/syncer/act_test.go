package syncer

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide"
	fixture "github.com/spillway-io/spillway/internal/decide/decidetest"
	"github.com/spillway-io/spillway/internal/kind"
)

// TestRefusedDeletion is about a provider that does not let an object go: with
// a local object that is remembered, without one it is an error like any other.
func TestRefusedDeletion(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "settings", nil)
	action := decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: fixture.Remote()}
	for name, local := range map[string]*corev1.ConfigMap{"there": fixture.Local(), "gone": nil} {
		t.Run(name, func(t *testing.T) {
			m, _ := testMemory()
			c := &kindController[*corev1.ConfigMap]{Kind: kind.Kind[*corev1.ConfigMap]{Name: "configmap"}, pair: &pair{clusterID: "eu"}, memory: m}
			s := fixture.Wanted(local, fixture.Remote())
			err := c.failed(t.Context(), s, action, forbidden)
			if (err != nil) != (local == nil) {
				t.Errorf("got the error %v", err)
			}
			if local != nil && m.Refusals.Of(s.Key, version(local), "") == nil {
				t.Error("the refusal is not remembered")
			}
		})
	}
}

// TestServerErrorsThatLast is about errors that say nothing about the request: they
// are told if they do not end, and remembered only where what is decided then does
// not give up what was to be done.
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
	} {
		t.Run(name, func(t *testing.T) {
			m, clock := testMemory()
			c := &kindController[*corev1.ConfigMap]{
				Kind: kind.Kind[*corev1.ConfigMap]{Name: "configmap"}, pair: &pair{clusterID: "eu", clock: clock}, memory: m}
			s := fixture.Wanted(fixture.Local(), nil)
			for second := range 6 {
				if err := c.failed(t.Context(), s, test.action, test.err); err == nil {
					t.Fatalf("it is told after %d seconds", second)
				}
				clock.Step(time.Second)
			}
			if err := c.failed(t.Context(), s, test.action, test.err); (err == nil) != test.told {
				t.Fatalf("got the error %v after a while", err)
			}
			if !test.told {
				return
			}
			if got := m.Refusals.Of(s.Key, version(s.Local), ""); got == nil || got.Reason != v1alpha1.ReasonServerError {
				t.Fatalf("remembered is %v", got)
			}
			m.Succeeded(s.Key, decide.PatchStatus, "")
			clock.Step(time.Minute)
			if err := c.failed(t.Context(), s, test.action, test.err); err != nil {
				t.Errorf("it is not told any more: %v", err)
			}
			m.Succeeded(s.Key, test.action.Verb, "")
			if err := c.failed(t.Context(), s, test.action, test.err); err == nil {
				t.Error("it is told at once, after a success")
			}
		})
	}
}
