package namespacemap

import (
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/spillway-io/spillway/internal/nsmap"
	"github.com/spillway-io/spillway/internal/step"
)

type localUIDs = map[string]types.UID

// outcomes remembers which namespaces the provider refused to create or delete, until their next try
// is due. Losing it, with the process, costs one more try of each.
type outcomes struct {
	backoff *flowcontrol.Backoff

	mu        sync.Mutex
	byBinding map[string]map[string]nsmap.Outcome // remote namespace → what was refused

	// conflicts are by the key of a remote namespace, see key.
	conflicts step.Conflicts[string]
}

func newOutcomes(first, most time.Duration) *outcomes {
	return &outcomes{backoff: flowcontrol.NewBackOff(first, most), byBinding: map[string]map[string]nsmap.Outcome{}}
}

func (o *outcomes) refused(binding, remote string, outcome nsmap.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byBinding[binding] == nil {
		o.byBinding[binding] = map[string]nsmap.Outcome{}
	}
	o.byBinding[binding][remote] = outcome
	o.backoff.Next(key(binding, remote), o.backoff.Clock.Now())
}

func (o *outcomes) clear(binding, remote string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.byBinding[binding], remote)
	o.conflicts.Forget(key(binding, remote))
	o.backoff.DeleteEntry(key(binding, remote))
}

// backingOff are the remote namespaces whose next try is not due yet, of those
// that something is still asked of, and how long it is until the first is.
func (o *outcomes) backingOff(binding string, asked sets.Set[string]) (map[string]nsmap.Outcome, time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.conflicts.ForgetIf(func(id string) bool {
		of, remote, _ := strings.Cut(id, "/")
		return of == binding && !asked.Has(remote)
	})
	waiting := map[string]nsmap.Outcome{}
	var first time.Duration
	for remote, outcome := range o.byBinding[binding] {
		id := key(binding, remote)
		if !asked.Has(remote) {
			delete(o.byBinding[binding], remote)
			o.backoff.DeleteEntry(id)
			continue
		}
		if o.backoff.IsInBackOffSinceUpdate(id, o.backoff.Clock.Now()) {
			waiting[remote] = outcome
			first = step.Sooner(first, o.backoff.Get(id))
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
	o.conflicts.ForgetIf(func(id string) bool { return strings.HasPrefix(id, key(binding, "")) })
}

// key of a remote namespace: neither name has a slash.
func key(binding, remote string) string { return binding + "/" + remote }
