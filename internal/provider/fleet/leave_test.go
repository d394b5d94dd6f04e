package fleet

import (
	"net/http"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/lease"
)

func left(s State) bool { return s.Phase == Left }

// leaving is a target to leave, whose binding remembers the same as another manager's.
func leaving(of *Fleet) Target {
	to := remembering(of)
	to.Leaving = true
	return to
}

func noLeaseIn(t *testing.T, c client.Client, origin string) {
	t.Helper()
	found := &coordinationv1.Lease{}
	name := lease.Name(provenance.Mark{Origin: origin, ClusterID: "eu"})
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: v1alpha1.ProviderNamespace, Name: name}, found); !apierrors.IsNotFound(err) {
		t.Errorf("the Lease is there (%v): %+v", err, found.Spec)
	}
}

func TestWithTheBindingTheLeaseGoes(t *testing.T) {
	const origin = "leaving"
	c := admin(t)
	f, _, _ := startManager(t, origin)
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is connected", connected)
	f.Leave("eu")
	f.Connect(target("eu", "1", providerUID)) // It waits for the end of the last one.
	eventually(t, f, "eu", "is connected again", connected)
	if got := leaseIn(t, c, origin); got.Annotations[v1alpha1.AnnotationGeneration] != "1" || *got.Spec.LeaseTransitions != 0 {
		t.Errorf("the Lease is an old one: %+v", got)
	}
}

// TestWithTheBindingTheLeaseGoesBetweenSessions leaves while there is no session.
func TestWithTheBindingTheLeaseGoesBetweenSessions(t *testing.T) {
	const origin = "left-between"
	c := admin(t)
	g := newGate()
	f := New(Options{Origin: origin, ProbeInterval: time.Second, WrapTransport: g.wrap})
	go func() { _ = f.Start(t.Context(), &manager{}) }()
	go remember(t.Context(), f)
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is connected", connected)
	g.refuse("kube-system", true)
	eventually(t, f, "eu", "is refused", refusedFor(v1alpha1.ReasonForbidden))
	g.refuse("kube-system", false)
	f.Leave("eu") // In the second before the next try.
	f.mu.Lock()
	last := f.ended["eu"]
	f.mu.Unlock()
	if last != nil { // Otherwise it has ended already.
		<-last.done
	}
	noLeaseIn(t, c, origin)
}

// TestTheLeaseOfOneThatWasKilledGoes with the binding: the next manager deletes it once
// it has expired, without using the provider for anything else.
func TestTheLeaseOfOneThatWasKilledGoes(t *testing.T) {
	const origin = "killed-while-leaving"
	c := admin(t)
	first, killed, _ := startManager(t, origin)
	first.Connect(target("eu", "1", providerUID))
	eventually(t, first, "eu", "is connected", connected)
	killed.kill()

	clock := testclock.NewFakeClock(time.Now())
	second, wrote, _ := startManagerBy(t, clock, origin)
	second.Connect(leaving(first))
	for looks := 1; looks <= 3; looks++ { // The Lease's second is not over before the fifth look.
		wrote.looked(t, looks)
		if got := wrote.written(); len(got) > 0 || second.State("eu").Phase != Connecting {
			t.Fatalf("it has not waited: after %d looks it is %s, and has written %v", looks, second.State("eu").Phase, got)
		}
		clock.Step(leaseDuration / 3)
	}
	wrote.looked(t, 4)
	clock.Step(2 * leaseDuration)
	eventually(t, second, "eu", "is left", left)
	noLeaseIn(t, c, origin)
	if got := wrote.written(); len(got) != 1 || !strings.HasPrefix(got[0], "DELETE ") {
		t.Errorf("besides it has written: %v", got)
	}
	if _, err := second.Get("eu"); err == nil {
		t.Error("the provider is engaged")
	}
	second.Connect(leaving(first))
	if got := second.State("eu"); !left(got) {
		t.Errorf("asked again, it is %+v", got)
	}
	second.Connect(target("eu", "1", providerUID)) // A binding that is made again remembers nothing.
	wrote.looked(t, 6)
	eventually(t, second, "eu", "is connected", connected)
}

// TestWhatWasLeftIsNotLeftAgain: the binding is deleted after its provider was left.
func TestWhatWasLeftIsNotLeftAgain(t *testing.T) {
	f, _, _ := startManager(t, "left-once")
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is connected", connected)
	f.Connect(leaving(f))
	eventually(t, f, "eu", "has been left", left)
	f.Leave("eu")
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended["eu"] != nil {
		t.Error("the provider is asked once more")
	}
}

// TestLeaving stops a manager that held the Lease, and lets the next one leave.
func TestLeaving(t *testing.T) {
	c := admin(t)
	type world struct {
		first  *Fleet
		stop   func()
		origin string
		lease  string
		wrote  *writer
		gate   *gate
	}
	for name, test := range map[string]struct {
		given func(w *world, to *Target)
		want  func(State) bool
		stays bool
	}{
		"a Lease that was given back": {func(w *world, _ *Target) { w.stop() }, left, false},
		"none": {func(w *world, _ *Target) {
			w.first.Leave("eu")
			w.stop()
		}, left, false},
		"the answer is lost":          {func(w *world, _ *Target) { w.stop(); w.wrote.lose(w.lease, true) }, left, false},
		"one that another one renews": {func(*world, *Target) {}, refusedFor(v1alpha1.ReasonHeldByAnother), true},
		"one that we are behind":      {func(w *world, to *Target) { w.stop(); to.Holder.Generation = 0 }, refusedFor(v1alpha1.ReasonTakeOverNeeded), true},
		"no right to see it":          {func(w *world, _ *Target) { w.stop(); w.gate.refuse(w.lease, true) }, refusedFor(v1alpha1.ReasonForbidden), true},
		"no right to see the provider": {func(w *world, _ *Target) {
			w.stop()
			w.gate.refuse("kube-system", true)
		}, refusedFor(v1alpha1.ReasonForbidden), true},
		"another cluster": {func(w *world, to *Target) { w.stop(); to.PinnedUID = "another" }, refusedFor(v1alpha1.ReasonIdentityChanged), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{origin: "leaving-" + strings.ReplaceAll(name, " ", "-"), wrote: &writer{}, gate: newGate()}
			w.lease = lease.Name(provenance.Mark{Origin: w.origin, ClusterID: "eu"})
			w.first, _, w.stop = startManager(t, w.origin)
			w.first.Connect(target("eu", "1", providerUID))
			eventually(t, w.first, "eu", "is connected", connected)
			to := leaving(w.first)
			test.given(w, &to)

			f := New(Options{Origin: w.origin, ProbeInterval: 100 * time.Millisecond, LeaseDuration: leaseDuration,
				WrapTransport: func(name string, next http.RoundTripper) http.RoundTripper {
					return w.wrote.wrap(name, w.gate.wrap(name, next))
				}})
			go func() { _ = f.Start(t.Context(), &manager{}) }()
			go remember(t.Context(), f)
			f.Connect(to)
			eventually(t, f, "eu", "has done what it could", test.want)
			f.mu.Lock()
			done := f.connections["eu"].done
			f.mu.Unlock()
			<-done // It makes no further try.
			if !test.stays {
				noLeaseIn(t, c, w.origin)
				return
			}
			leaseIn(t, c, w.origin)
			if got := w.wrote.written(); len(got) > 0 {
				t.Errorf("it has written: %v", got)
			}
		})
	}
}
