package namespacemap

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/retry"
)

// assumptionLifetime is how long a write is believed although the cache does not show
// it. A watch lags by milliseconds; after this long something else is wrong, and the
// cache is believed.
const assumptionLifetime = 30 * time.Second

// assumptions are our own writes that a provider's cache does not show yet, so that a
// reconcile that follows at once does not repeat them. They belong to one connection:
// the next one's cache starts after them.
type assumptions struct {
	mu        sync.Mutex
	byBinding map[string]*assumption
}

type assumption struct {
	provider cluster.Cluster
	created  map[string]assumedNamespace
	deleted  map[types.UID]time.Time
}

type assumedNamespace struct {
	namespacemap.RemoteNamespace
	at time.Time
}

func (a *assumptions) of(binding string, provider cluster.Cluster) *assumption {
	if a.byBinding == nil {
		a.byBinding = map[string]*assumption{}
	}
	if found, ok := a.byBinding[binding]; ok && found.provider == provider {
		return found
	}
	fresh := &assumption{provider: provider, created: map[string]assumedNamespace{}, deleted: map[types.UID]time.Time{}}
	a.byBinding[binding] = fresh
	return fresh
}

func (a *assumptions) noteCreated(binding string, provider cluster.Cluster, remote namespacemap.RemoteNamespace, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of(binding, provider).created[remote.Name] = assumedNamespace{remote, now}
}

func (a *assumptions) noteDeleted(binding string, provider cluster.Cluster, uid types.UID, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of(binding, provider).deleted[uid] = now
}

// overlay adds known writes to what the cache shows. It returns how long until the
// first assumption ends, zero if there is none: a namespace that came and went between
// two reconciles causes no event then.
func (a *assumptions) overlay(binding string, provider cluster.Cluster, remotes map[string]namespacemap.RemoteNamespace, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	assumed := a.of(binding, provider)
	var ends time.Duration
	for name, created := range assumed.created {
		if _, shown := remotes[name]; shown || now.Sub(created.at) > assumptionLifetime {
			delete(assumed.created, name)
			continue
		}
		remotes[name] = created.RemoteNamespace
		ends = retry.Sooner(ends, untilExpired(created.at, now))
	}
	cached := make(map[types.UID]string, len(remotes))
	for name, remote := range remotes {
		cached[remote.UID] = name
	}
	for uid, at := range assumed.deleted {
		name, shown := cached[uid]
		if !shown || remotes[name].Terminating || now.Sub(at) > assumptionLifetime {
			delete(assumed.deleted, uid)
			continue
		}
		remote := remotes[name]
		remote.Terminating = true
		remotes[name] = remote
		ends = retry.Sooner(ends, untilExpired(at, now))
	}
	return ends
}

// untilExpired is how long an assumption is still believed; never zero.
func untilExpired(at, now time.Time) time.Duration {
	return max(time.Millisecond, at.Add(assumptionLifetime).Sub(now))
}

func (a *assumptions) forget(binding string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.byBinding, binding)
}
