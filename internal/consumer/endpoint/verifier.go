package endpoint

import (
	"context"
	"reflect"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// interval is how long a verdict counts.
const interval = 10 * time.Minute

// Verifier verifies the addresses of all bindings, one handshake at a time for each. It remembers the last
// verdict of each binding.
type Verifier struct {
	// authority returns the authorities for bindings without a caBundle.
	authority func() ([]byte, error)
	clock     clock.PassiveClock
	connect   dial
	events    chan event.TypedGenericEvent[*v1alpha1.ClusterBinding]

	mu       sync.Mutex
	bindings map[string]*verified
}

// verified is what is known about the address of one binding.
type verified struct {
	api     v1alpha1.ConsumerAPI
	verdict Verdict
	at      time.Time
	running bool
}

// NewVerifier returns a Verifier. authority returns the authorities for bindings without a caBundle.
func NewVerifier(authority func() ([]byte, error), c clock.PassiveClock) *Verifier {
	return &Verifier{
		authority: authority, clock: c, connect: direct, bindings: map[string]*verified{},
		events: make(chan event.TypedGenericEvent[*v1alpha1.ClusterBinding]),
	}
}

// Events sends the binding whose verdict is new. Somebody must receive.
func (v *Verifier) Events() <-chan event.TypedGenericEvent[*v1alpha1.ClusterBinding] { return v.events }

// Verdict returns the last verdict about the address of a binding, and how long it counts. If there is none,
// or it no longer counts, Verdict starts a handshake and does not wait for it.
func (v *Verifier) Verdict(name string, api v1alpha1.ConsumerAPI) (verdict Verdict, again time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	known := v.bindings[name]
	if known == nil {
		known = &verified{}
		v.bindings[name] = known
	}
	now := v.clock.Now()
	if reflect.DeepEqual(known.api, api) {
		verdict, again = known.verdict, known.at.Add(interval).Sub(now)
	}
	if (verdict.Reason == "" || again <= 0) && !known.running {
		known.running = true
		go v.run(name, known, *api.DeepCopy())
	}
	return verdict, max(again, 0)
}

// Forget drops what is known about a binding. During a handshake it drops nothing: the event at its end makes
// the caller look again.
func (v *Verifier) Forget(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known := v.bindings[name]; known != nil && !known.running {
		delete(v.bindings, name)
	}
}

// run makes one handshake, which is bounded, and reports that there is a verdict.
func (v *Verifier) run(name string, of *verified, api v1alpha1.ConsumerAPI) {
	verdict := v.check(api)
	v.mu.Lock()
	of.api, of.verdict, of.at, of.running = api, verdict, v.clock.Now(), false
	v.mu.Unlock()
	changed := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: name}}
	select {
	case v.events <- event.TypedGenericEvent[*v1alpha1.ClusterBinding]{Object: changed}:
	case <-time.After(timeout): // The manager is ending. Otherwise the next reconcile finds the verdict.
	}
}

func (v *Verifier) check(api v1alpha1.ConsumerAPI) Verdict {
	bundle := api.CABundle
	if len(bundle) == 0 {
		var err error
		if bundle, err = v.authority(); err != nil || len(bundle) == 0 {
			return Verdict{v1alpha1.ReasonUnverified, "the manager does not know which authorities sign the consumer's certificates; set caBundle"}
		}
	}
	return check(context.Background(), v.connect, api, bundle)
}
