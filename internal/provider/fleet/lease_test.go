package fleet

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/lease"
	"github.com/spillway-io/spillway/internal/provider/transport"
)

func TestASecondManagerOnlyReads(t *testing.T) {
	const origin = "second-manager"
	admin(t)
	first, _, stop := startManager(t, origin)
	first.Connect(target("eu", "1", providerUID))
	state := eventually(t, first, "eu", "is connected", connected)
	if state.Fence.Reason != v1alpha1.ReasonLeaseHeld || state.Holder.Generation != 1 {
		t.Errorf("the first manager is connected as %+v", state)
	}

	second, wrote, _ := startManager(t, origin)
	second.Connect(remembering(first))
	eventually(t, second, "eu", "is refused", refusedFor(v1alpha1.ReasonHeldByAnother))
	if _, err := second.Get("eu"); err == nil {
		t.Error("the provider is engaged with the second manager")
	}
	if got := wrote.written(); len(got) > 0 {
		t.Errorf("the second manager has written: %v", got)
	}
	if got := second.State("eu").Message; got == "" || second.State("eu").Holder.Generation != 0 {
		t.Errorf("the state of the second manager is %+v", second.State("eu"))
	}

	stop() // It gives the Lease back.
	eventually(t, second, "eu", "takes over", connected)
	if got := second.State("eu").Holder.Generation; got != 2 {
		t.Errorf("taken over with generation %d, want 2", got)
	}
}

func TestASuccessorWaitsForTheEndOfALease(t *testing.T) {
	const origin = "successor"
	c := admin(t)
	theirs := testclock.NewFakeClock(time.Now())
	first, killed, _ := startManagerBy(t, theirs, origin)
	first.Connect(target("eu", "1", providerUID))
	eventually(t, first, "eu", "is connected", connected)
	killed.kill()
	before := leaseIn(t, c, origin)

	clock := testclock.NewFakeClock(time.Now())
	second, wrote, _ := startManagerBy(t, clock, origin)
	second.Connect(remembering(first))
	for looks := 1; looks <= 3; looks++ { // The Lease's second is not over before the fifth look.
		wrote.looked(t, looks)
		if got := wrote.written(); len(got) > 0 || second.State("eu").Phase == Connected {
			t.Fatalf("it has not waited: after %d looks it has written %v", looks, got)
		}
		clock.Step(leaseDuration / 3)
	}
	wrote.looked(t, 4)
	if got := wrote.written(); len(got) > 0 {
		t.Errorf("it has not waited to the end: %v", got)
	}
	clock.Step(2 * leaseDuration)
	eventually(t, second, "eu", "takes over", connected)
	if got := second.State("eu").LastContact; !got.Equal(clock.Now()) {
		t.Errorf("it is handed over as if it had last answered %s ago", clock.Since(got))
	}
	after := leaseIn(t, c, origin)
	if *after.Spec.LeaseTransitions != *before.Spec.LeaseTransitions+1 || after.Annotations[v1alpha1.AnnotationGeneration] != "2" {
		t.Errorf("taken over as %+v", after)
	}
	theirs.Step(leaseDuration)
	cl, err := first.Get("eu")
	if err != nil {
		t.Fatal(err)
	}
	late := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.ProviderNamespace, Name: "late"}}
	if err := cl.GetClient().Create(t.Context(), late); !errors.Is(err, transport.ErrFenced) {
		t.Errorf("the first one still writes: %v", err)
	}
}

// TestRenewalsTakeThePlaceOfProbes, as long as they are answered. TestPulse has the times.
func TestRenewalsTakeThePlaceOfProbes(t *testing.T) {
	admin(t)
	clock := testclock.NewFakeClock(time.Now())
	f, wrote, _ := startManagerBy(t, clock, "renewals", func(o *Options) { o.ProbeInterval, o.LeaseDuration = 3*time.Second, DefaultLeaseDuration })
	f.Connect(target("eu", "1", providerUID))
	tokens := f.connections["eu"].credentials
	eventually(t, f, "eu", "is connected, and waits for a probe", func(state State) bool {
		tokens.mu.Lock()
		defer tokens.mu.Unlock()
		return connected(state) && tokens.inUse
	})
	for range 20 {
		clock.Step(f.options.renewInterval())
		// The session may have set its timer while the clock was changed: then it renews at the next step.
		for deadline := time.Now().Add(5 * time.Second); !f.State("eu").LastContact.Equal(clock.Now()) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
	renewals := len(slices.DeleteFunc(wrote.written(), func(request string) bool { return !strings.HasPrefix(request, http.MethodPatch) }))
	if probes := wrote.probed(); renewals < 10 || probes > renewals/2 {
		t.Errorf("%d probes, and %d renewals", probes, renewals)
	}
}

func TestACopyThatIsBehindTakesNothing(t *testing.T) {
	const origin = "copy"
	c := admin(t)
	first, _, stop := startManager(t, origin)
	first.Connect(target("eu", "1", providerUID))
	eventually(t, first, "eu", "is connected", connected)
	stop()

	second, wrote, _ := startManager(t, origin)
	second.Connect(target("eu", "1", providerUID)) // From a backup of before the first connection.
	eventually(t, second, "eu", "is refused", refusedFor(v1alpha1.ReasonTakeOverNeeded))
	if got := wrote.written(); len(got) > 0 {
		t.Errorf("it has written: %v", got)
	}
	let := target("eu", "1", providerUID)
	let.TakeOver = "1"
	second.Connect(let)
	eventually(t, second, "eu", "takes over", connected)
	if got := leaseIn(t, c, origin).Annotations[v1alpha1.AnnotationGeneration]; got != "2" {
		t.Errorf("the Lease has generation %s, want 2", got)
	}
}

// TestARestoredConsumerTakesNothingOver, however young the backup is.
func TestARestoredConsumerTakesNothingOver(t *testing.T) {
	admin(t)
	first, _, stop := startManagerBy(t, clock.RealClock{}, "restored", func(o *Options) { o.Restored = func() bool { return true } })
	first.Connect(target("eu", "1", providerUID))
	eventually(t, first, "eu", "is connected", connected)
	stop()
	second, wrote, _ := startManager(t, "restored")
	second.Connect(remembering(first))
	eventually(t, second, "eu", "is refused", refusedFor(v1alpha1.ReasonTakeOverNeeded))
	if got := wrote.written(); len(got) > 0 {
		t.Errorf("it has written: %v", got)
	}
}

func TestALeaseThatCannotBeWrittenEndsTheSession(t *testing.T) {
	admin(t)
	f, wrote, _ := startManager(t, "webhook")
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is connected", connected)
	wrote.fail(true)
	state := eventually(t, f, "eu", "says so", refusedFor(v1alpha1.ReasonLeaseNotRenewed))
	if !strings.Contains(state.Message, "failed calling webhook") {
		t.Errorf("it says %q", state.Message)
	}
	if _, err := f.Get("eu"); err == nil {
		t.Error("the provider is still engaged")
	}
	wrote.fail(false)
	eventually(t, f, "eu", "is connected again", connected)
}

// TestABusyProviderKeepsItsSession: while it refuses renewals with 429, nothing is written, and the caches stay.
func TestABusyProviderKeepsItsSession(t *testing.T) {
	c := admin(t)
	for origin, taken := range map[string]bool{"renewed-again": false, "held-by-another-meanwhile": true} {
		t.Run(origin, func(t *testing.T) {
			f, wrote, stop := startManager(t, origin)
			defer stop()
			f.Connect(target("eu", "1", providerUID))
			eventually(t, f, "eu", "is connected", connected)
			before, err := f.Get("eu")
			if err != nil {
				t.Fatal(err)
			}
			wrote.beBusy(true)
			state := eventually(t, f, "eu", "says so", func(s State) bool { return s.Fence.Reason == v1alpha1.ReasonLeaseNotRenewed })
			if state.Phase != Connected || !strings.Contains(state.Fence.Message, "too many requests") {
				t.Errorf("the state is %+v", state)
			}
			if err := before.Fenced(); !errors.Is(err, transport.ErrFenced) {
				t.Errorf("it may still write: %v", err)
			}
			var reopened atomic.Int32
			before.Reopened(t.Context(), func() { reopened.Add(1) })
			if taken {
				held := leaseIn(t, c, origin)
				held.Spec.HolderIdentity = ptr.To("")
				if err := c.Update(t.Context(), held); err != nil {
					t.Fatal(err)
				}
			}
			wrote.beBusy(false)
			eventually(t, f, "eu", "holds the Lease again", func(s State) bool { return connected(s) && s.Fence.Reason == v1alpha1.ReasonLeaseHeld })
			if after, err := f.Get("eu"); err != nil || (after != before) != taken {
				t.Errorf("the provider is engaged anew: %v, want %v (error %v)", after != before, taken, err)
			}
			if reopened.Load() == 0 {
				t.Error("nobody is told that what has failed meanwhile can be written")
			}
		})
	}
}

// TestAProviderThatStaysBusyEndsItsSession, so that the node becomes NotReady.
func TestAProviderThatStaysBusyEndsItsSession(t *testing.T) {
	admin(t)
	f, wrote, _ := startManager(t, "busy-for-long")
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is connected", connected)
	wrote.beBusy(true)
	eventually(t, f, "eu", "gives up", refusedFor(v1alpha1.ReasonLeaseNotRenewed))
}

func TestALeaseOfSomebodyElseIsLeftAlone(t *testing.T) {
	const origin = "foreign"
	c := admin(t)
	foreign := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.ProviderNamespace, Name: lease.Name(provenance.Mark{Origin: origin, ClusterID: "eu"})},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: ptr.To("somebody")},
	}
	if err := c.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	f, wrote, _ := startManager(t, origin)
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is refused", refusedFor(v1alpha1.ReasonLeaseConflict))
	if got := wrote.written(); len(got) > 0 {
		t.Errorf("it has written: %v", got)
	}
}

// TestAWriteWithoutAnAnswerLeavesTheLease, since it may still take effect.
func TestAWriteWithoutAnAnswerLeavesTheLease(t *testing.T) {
	for name, answered := range map[string]bool{"answered": true, "not answered": false} {
		t.Run(name, func(t *testing.T) {
			origin := "broken-off-" + strings.ReplaceAll(name, " ", "-")
			c := admin(t)
			f, wrote, stop := startManager(t, origin)
			wrote.lose("namespaces", !answered)
			f.Connect(target("eu", "1", providerUID))
			eventually(t, f, "eu", "is connected", connected)
			cl, err := f.Get("eu")
			if err != nil {
				t.Fatal(err)
			}
			err = cl.GetClient().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: origin + "-"}})
			if (err == nil) != answered {
				t.Errorf("the write has ended with %v", err)
			}
			stop()
			if free := leaseIn(t, c, origin).Spec.HolderIdentity == nil; free != answered {
				t.Errorf("the Lease is given back: %v", free)
			}
		})
	}
}

// TestALeaseThatIsRefusedLater ends the connection, which goes on without it when any
// other manager would have taken it long ago.
func TestALeaseThatIsRefusedLater(t *testing.T) {
	const origin = "refused-later"
	admin(t)
	g := newGate()
	f := New(Options{Origin: origin, ProbeInterval: 100 * time.Millisecond, LeaseDuration: leaseDuration, WrapTransport: g.wrap})
	go func() { _ = f.Start(t.Context(), &manager{}) }()
	go remember(t.Context(), f)
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is connected", connected)
	cl, err := f.Get("eu")
	if err != nil {
		t.Fatal(err)
	}
	g.refuse(lease.Name(provenance.Mark{Origin: origin, ClusterID: "eu"}), true)
	began := time.Now()
	eventually(t, f, "eu", "is refused", refusedFor(v1alpha1.ReasonLeaseForbidden))
	if err := cl.GetClient().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: origin}}); !errors.Is(err, transport.ErrFenced) && !errors.Is(err, transport.ErrClosed) {
		t.Errorf("the fence is lifted: %v", err)
	}
	state := eventually(t, f, "eu", "goes on without", connected)
	if took := time.Since(began); took < 3*leaseDuration || state.Fence.Reason != v1alpha1.ReasonLeaseForbidden {
		t.Errorf("after %s it is %+v", took, state)
	}
}

// TestWhoIsRefusedStaysSo while the Lease cannot be read: an unreadable Lease is not
// free.
func TestWhoIsRefusedStaysSo(t *testing.T) {
	const origin = "refused-before"
	admin(t)
	first, _, stop := startManager(t, origin)
	first.Connect(target("eu", "1", providerUID))
	eventually(t, first, "eu", "is connected", connected)
	stop()

	lease := lease.Name(provenance.Mark{Origin: origin, ClusterID: "eu"})
	g := newGate()
	f := New(Options{Origin: origin, ProbeInterval: 100 * time.Millisecond, LeaseDuration: leaseDuration, WrapTransport: g.wrap})
	go func() { _ = f.Start(t.Context(), &manager{}) }()
	go remember(t.Context(), f)
	f.Connect(target("eu", "1", providerUID)) // From a backup of before the first connection.
	eventually(t, f, "eu", "is refused", refusedFor(v1alpha1.ReasonTakeOverNeeded))
	g.refuse(lease, true)
	for range 5 {
		<-g.news
	}
	if state := f.State("eu"); state.Phase == Connected || state.Reason != v1alpha1.ReasonTakeOverNeeded {
		t.Errorf("it is %+v", state)
	}
}

// TestARestoredProviderIsReadAnew, whose Lease shows an older version than before.
func TestARestoredProviderIsReadAnew(t *testing.T) {
	lease := func(version string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l", UID: "1", ResourceVersion: version}}
	}
	for name, test := range map[string]struct {
		seen, shown *coordinationv1.Lease
		want        bool
	}{
		"the first":             {nil, lease("7"), false},
		"none any more":         {lease("7"), nil, true},
		"as it was":             {lease("7"), lease("7"), false},
		"written by another":    {lease("7"), lease("19"), false},
		"restored":              {lease("19"), lease("7"), true},
		"with fewer characters": {lease("1000"), lease("999"), true},
	} {
		t.Run(name, func(t *testing.T) {
			h := &leaseState{clock: clock.RealClock{}}
			h.observe(test.seen)
			if got := h.observe(test.shown); got != test.want {
				t.Errorf("its resource versions went back: %v", got)
			}
			if h.observe(test.shown) {
				t.Error("and again, for ever")
			}
		})
	}
}

// TestAHolderThatIsNotRecorded is said, and nothing is written: so does an API server that drops
// status.holder.
func TestAHolderThatIsNotRecorded(t *testing.T) {
	admin(t)
	clock, w := testclock.NewFakeClock(time.Now()), &writer{}
	f := New(Options{Clock: clock, Origin: "unrecorded", ProbeInterval: 100 * time.Millisecond, ProbeTimeout: 5 * time.Second, LeaseDuration: leaseDuration, WrapTransport: w.wrap})
	go func() { _ = f.Start(t.Context(), &manager{}) }()
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is refused", func(state State) bool {
		clock.Step(leaseDuration)
		return state.Phase == Disconnected && state.Reason == v1alpha1.ReasonHolderNotRecorded
	})
	if got := w.written(); len(got) > 0 {
		t.Errorf("it has written %v", got)
	}
}

// TestTheLastRenewalEndsBeforeTheRelease, which it would make a conflict.
func TestTheLastRenewalEndsBeforeTheRelease(t *testing.T) {
	admin(t)
	var under atomic.Int32
	begun, released := make(chan struct{}, 1), make(chan struct{})
	f, _, stop := startManagerBy(t, clock.RealClock{}, "released", func(o *Options) {
		o.WrapTransport = func(_ string, next http.RoundTripper) http.RoundTripper {
			return roundTrip(func(req *http.Request) (*http.Response, error) {
				if req.Method != http.MethodPatch || !strings.Contains(req.URL.Path, "/leases/") {
					return next.RoundTrip(req)
				}
				if under.Add(1) > 1 {
					close(released)
					t.Error("the Lease is given back while it is renewed")
				}
				defer under.Add(-1)
				if len(begun) == 0 && req.Context().Err() == nil {
					begun <- struct{}{}
					<-req.Context().Done()
					select { // The release would come now.
					case <-released:
					case <-time.After(100 * time.Millisecond):
					}
					return nil, req.Context().Err()
				}
				return next.RoundTrip(req)
			})
		}
	})
	f.Connect(target("eu", "1", providerUID))
	eventually(t, f, "eu", "is connected", connected)
	eventually(t, f, "eu", "renews its Lease", func(State) bool { return len(begun) > 0 })
	stop()
}

// TestRenewalIsSmall: it has what Written may change, and the version that it must meet.
func TestRenewalIsSmall(t *testing.T) {
	held := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "ours", Labels: map[string]string{"a": "b"}, ResourceVersion: "7", ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "spillway"}},
			Annotations: map[string]string{v1alpha1.AnnotationGeneration: "2", "of": "others"}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("us")},
	}
	lease := lease.Written(lease.Snapshot{Lease: held, Identity: "us", Duration: 15 * time.Second}, lease.Decision{Generation: 3}, time.Unix(1, 0).UTC())
	got, err := renewal(lease).Data(lease)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"metadata":{"resourceVersion":"7","annotations":{"` + v1alpha1.AnnotationGeneration + `":"3"}},` +
		`"spec":{"holderIdentity":"us","leaseDurationSeconds":15,"renewTime":"1970-01-01T00:00:01.000000Z"}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
