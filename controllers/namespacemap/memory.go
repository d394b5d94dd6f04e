package namespacemap

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/retry"
)

type localUIDs = map[string]types.UID

// outcomes remembers which namespaces the provider refused to create or delete, until the next attempt is due.
// Losing it with the process costs one more attempt each.
type outcomes struct {
	backoff *flowcontrol.Backoff

	mu        sync.Mutex
	byBinding map[string]map[string]refusal // by the remote namespace

	// conflicts and serverErrors are by the key of a remote namespace, see key.
	conflicts, serverErrors *retry.Streaks[string]
}

// refusal is what was refused, and when it may be retried.
type refusal struct {
	namespacemap.Outcome
	until time.Time
}

func newOutcomes(first, most time.Duration) *outcomes {
	return &outcomes{
		backoff: flowcontrol.NewBackOff(first, most), byBinding: map[string]map[string]refusal{},
		conflicts: retry.NewConflicts[string](), serverErrors: retry.NewServerErrors[string](),
	}
}

func (o *outcomes) refused(binding, remote string, outcome namespacemap.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byBinding[binding] == nil {
		o.byBinding[binding] = map[string]refusal{}
	}
	id, now := key(binding, remote), o.backoff.Clock.Now()
	o.backoff.Next(id, now)
	wait := o.backoff.Get(id)
	if outcome.Reason == v1alpha1.ReasonServerError {
		wait = min(wait, retry.ServerErrorWait)
	}
	o.byBinding[binding][remote] = refusal{outcome, now.Add(wait)}
}

// last returns the last refusal in that phase, if nothing has succeeded since.
func (o *outcomes) last(binding, remote string, phase v1alpha1.MappingPhase) (namespacemap.Outcome, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	found, ok := o.byBinding[binding][remote]
	return found.Outcome, ok && found.Phase == phase
}

func (o *outcomes) clear(binding, remote string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id := key(binding, remote)
	delete(o.byBinding[binding], remote)
	o.conflicts.Forget(id)
	o.serverErrors.Forget(id)
	o.backoff.DeleteEntry(id)
}

// backingOff returns the relevant remote namespaces whose next attempt is not due yet, and the time until the
// first attempt is due.
func (o *outcomes) backingOff(binding string, asked sets.Set[string]) (map[string]namespacemap.Outcome, time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.forgetStreaks(func(id string) bool {
		of, remote, _ := strings.Cut(id, "/")
		return of == binding && !asked.Has(remote)
	})
	waiting := map[string]namespacemap.Outcome{}
	var first time.Duration
	for remote, refused := range o.byBinding[binding] {
		if !asked.Has(remote) {
			delete(o.byBinding[binding], remote)
			o.backoff.DeleteEntry(key(binding, remote))
			continue
		}
		if wait := refused.until.Sub(o.backoff.Clock.Now()); wait > 0 {
			waiting[remote] = refused.Outcome
			first = retry.Sooner(first, wait)
		}
	}
	return waiting, first
}

func (o *outcomes) forget(binding string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for remote := range o.byBinding[binding] {
		o.backoff.DeleteEntry(key(binding, remote))
	}
	delete(o.byBinding, binding)
	o.forgetStreaks(func(id string) bool { return strings.HasPrefix(id, key(binding, "")) })
}

func (o *outcomes) forgetStreaks(which func(id string) bool) {
	o.conflicts.ForgetIf(which)
	o.serverErrors.ForgetIf(which)
}

// key returns the key of a remote namespace. Neither name contains a slash.
func key(binding, remote string) string { return binding + "/" + remote }
