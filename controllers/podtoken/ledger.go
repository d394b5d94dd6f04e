package podtoken

import (
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/spillway-io/spillway/internal/retry/throttle"
)

// A provider that deletes Secrets with tokens causes new requests: a few at once, and then one per interval. That is
// for each pod, and for all pods of the provider together.
const (
	fewOfPod      = 3
	podInterval   = time.Minute
	fewOfProvider = 10
	interval      = 6 * time.Second
)

// ledger has what this process has requested for the pods of one provider. So the provider does not decide how often
// tokens are requested, whatever it does to Secrets and their annotations. A ledger outlives connections, so
// the provider gains nothing by ending them.
type ledger struct {
	clock clock.PassiveClock
	// lost and lostOfPod allow requests for tokens of which the provider has lost the Secret.
	lost      *throttle.Allowance[struct{}]
	lostOfPod *throttle.Allowance[types.UID]

	mu   sync.Mutex
	pods map[types.UID]issued
}

// issued are the tokens of one pod that were requested together.
type issued struct {
	expires, renews time.Time
	// secret is the UID of the Secret that has them, if the provider has taken it. Otherwise, tokens has them,
	// by their keys.
	secret types.UID
	tokens map[string][]byte
}

func newLedger(c clock.PassiveClock) *ledger {
	return &ledger{
		clock: c, pods: map[types.UID]issued{},
		lost: throttle.NewAllowance[struct{}](fewOfProvider, interval, c), lostOfPod: throttle.NewAllowance[types.UID](fewOfPod, podInterval, c),
	}
}

// timesOf returns when the tokens in a Secret expire, and when they are renewed. What this process knows counts
// more than the annotations. Tokens that the Secret does not have yet are due.
func (i issued) timesOf(held *corev1.Secret, now time.Time) (expires, renews time.Time) {
	expires, renews = timesOf(held, now)
	switch {
	case len(i.tokens) > 0:
		return expires, now
	case i.secret != "" && i.secret == held.UID:
		return i.expires, i.renews
	default:
		return expires, renews
	}
}

// unwritten reports whether the tokens can still be used, and no Secret has them.
func (i issued) unwritten(now time.Time) bool { return len(i.tokens) > 0 && now.Before(i.renews) }

// of returns the tokens of a pod that were requested last. Its zero value means that there are none.
func (l *ledger) of(pod types.UID) issued {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pods[pod]
}

// wait returns how long the next request for tokens of a pod must wait. The first one, and renewals, need not.
func (l *ledger) wait(pod types.UID) time.Duration {
	if known := l.of(pod); !l.clock.Now().Before(known.renews) {
		return 0
	}
	return max(l.lost.Wait(struct{}{}), l.lostOfPod.Wait(pod))
}

// requested notes the answers to requests for the tokens of a pod.
func (l *ledger) requested(pod types.UID, got issued) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.clock.Now().Before(l.pods[pod].renews) {
		l.lost.Wrote(struct{}{})
		l.lostOfPod.Wrote(pod)
	}
	l.pods[pod] = got
}

// written notes that a Secret has the tokens of a pod, and forgets the tokens themselves.
func (l *ledger) written(pod, secret types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.pods[pod]
	known.secret, known.tokens = secret, nil
	l.pods[pod] = known
}

// forget drops what is known about pods whose tokens have expired, and about the given one.
func (l *ledger) forget(pod types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	maps.DeleteFunc(l.pods, func(uid types.UID, known issued) bool {
		gone := uid == pod || !now.Before(known.expires)
		if gone {
			l.lostOfPod.Forget(uid)
		}
		return gone
	})
}

// ledgers has the ledger of each provider, by the clusterID of its binding.
type ledgers struct {
	mu  sync.Mutex
	all map[string]*ledger
}

// of returns the ledger of a provider.
func (l *ledgers) of(clusterID string, c clock.PassiveClock) *ledger {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil {
		l.all = map[string]*ledger{}
	}
	if l.all[clusterID] == nil {
		l.all[clusterID] = newLedger(c)
	}
	l.all[clusterID].forget("")
	return l.all[clusterID]
}
