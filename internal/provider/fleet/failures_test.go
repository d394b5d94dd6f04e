package fleet

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

func TestDoubt(t *testing.T) {
	no := apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, "kube-system", nil)
	noLease := errNotUsable{v1alpha1.ReasonLeaseForbidden, "no"}
	away, unauthorized := errors.New("connection refused"), apierrors.NewUnauthorized("no")
	type session struct {
		err   error
		works bool
		doubt bool
	}
	for name, sessions := range map[string][]session{
		"refused for good":    {{no, false, true}, {no, false, true}, {no, false, false}, {no, false, false}},
		"a Lease":             {{noLease, false, true}, {no, false, true}, {noLease, false, false}},
		"what is no refusal":  {{away, false, false}, {unauthorized, true, false}, {nil, false, false}},
		"away in between":     {{no, false, true}, {no, false, true}, {away, false, false}, {no, false, true}},
		"after it has worked": {{no, true, true}, {no, false, true}, {no, false, false}, {no, true, true}},
	} {
		t.Run(name, func(t *testing.T) {
			d := &failureCount{}
			for i, s := range sessions {
				if s.works {
					d.reset()
				}
				if got := d.mayBeTransient(s.err); got != s.doubt {
					t.Errorf("session %d: %v, want %v", i, got, s.doubt)
				}
			}
		})
	}
	leaving := &failureCount{leaving: true}
	for i, err := range []error{away, unauthorized, away} {
		if got, want := leaving.mayBeTransient(err), i < believed-1; got != want {
			t.Errorf("session %d of one who leaves: %v, want %v", i, got, want)
		}
	}
}

// starting refuses the request for the identity some times, as an API server does that
// has just started.
type starting struct{ left atomic.Int32 }

func (s *starting) wrap(_ string, next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(req *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(req.URL.Path, "/kube-system") || s.left.Add(-1) < 0 {
			return next.RoundTrip(req)
		}
		return forbidden(req, "kube-system"), nil
	})
}

// A provider that has just started is not reported to refuse anything; one that keeps
// refusing is.
func TestAProviderThatHasJustStartedIsAskedAgain(t *testing.T) {
	forgetLeases(t)
	server := &starting{}
	server.left.Store(believed - 1) // From the first connection on.
	f, m := New(Options{Origin: "consumer", ProbeInterval: 100 * time.Millisecond, ProbeFailures: 1, WrapTransport: server.wrap}), &manager{}
	var said atomic.Int32
	go func() { _ = f.Start(t.Context(), m) }()
	go func() {
		for {
			select {
			case <-f.Events():
				f.mu.Lock()
				c := f.connections["eu"]
				f.mu.Unlock()
				state := c.report.now()
				c.leaseState.record(state.Holder, "")
				if state.Phase == Disconnected {
					said.Add(1)
				}
			case <-t.Context().Done():
				return
			}
		}
	}()
	f.Connect(target("eu", "1", providerUID))
	first := eventually(t, f, "eu", "is connected", connected).LastContact
	eventually(t, f, "eu", "has answered a probe", func(s State) bool { return s.LastContact.After(first) })

	server.left.Store(believed - 1) // Its API server restarts.
	eventually(t, f, "eu", "is connected again", func(s State) bool { return connected(s) && m.engaged.Load() == 2 })
	if server.left.Load() >= 0 || said.Load() > 0 {
		t.Errorf("it is told %d times that it is not connected, and would be refused %d times more", said.Load(), server.left.Load())
	}

	server.left.Store(1 << 20) // It no longer lets us in.
	eventually(t, f, "eu", "is refused", refusedFor(v1alpha1.ReasonForbidden))
	server.left.Store(0)
	eventually(t, f, "eu", "is let in", func(s State) bool { return connected(s) && m.engaged.Load() == 3 })
}

// TestAProbeOfABusyProvider: such a provider has not failed.
func TestAProbeOfABusyProvider(t *testing.T) {
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	busy, away := apierrors.NewTooManyRequests("later", 1), errors.New("connection refused")
	for name, test := range map[string]struct {
		err     error
		contact time.Duration // After the probe began.
		want    bool
	}{
		"refuses probes":                           {busy, -10 * time.Second, true},
		"has refused them for long":                {busy, -5 * time.Minute, false},
		"does not answer in time":                  {context.DeadlineExceeded, -10 * time.Second, false},
		"has answered a renewal meanwhile":         {context.DeadlineExceeded, time.Second, true},
		"is away, although it has just renewed":    {away, time.Second, false},
		"has answered nothing, and refuses it all": {apierrors.NewForbidden(schema.GroupResource{}, "", nil), -time.Second, false},
	} {
		options := Options{LeaseDuration: 15 * time.Second}
		k := &keeper{session: &session{link: &link{options: &options, report: &report{}}}}
		k.report.state.LastContact = began.Add(test.contact)
		if got := k.isBusy(test.err, began); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}
