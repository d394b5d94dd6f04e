// Package foreign knows what the pods of a provider request that are not this consumer's, during one connection.
//
// # How it works
//
// While the virtual node should tell what they leave, all pods of the provider with a node are listed and watched that
// have not ended and do not carry the consumer's origin. A Reflector does that. The list comes in pages, and of each pod
// only its node and its requests are held, which it shares with pods that request the same: 45 to 170 bytes.
//
// # What it trades away
//
// What it holds is limited, in addition to the budget of the provider's caches. Of a provider with more pods, nothing is
// known, and the manager looks again every ten minutes. If the pods may not be read, nothing is known either. Followers
// hear of changes every few seconds at most: pods come and go all the time.
package foreign

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/connection"
	"github.com/spillway-io/spillway/internal/provider/gather"
)

const (
	// publishInterval is the time between two changes that followers get.
	publishInterval = 5 * time.Second
	// againInterval is when the pods are listed again after they were too many.
	againInterval = 10 * time.Minute
	// share is which part of the budget's memory may be held in addition to it: 32 MiB as shipped. That is enough for
	// 130,000 pods that all request something else, and for 500,000 of few workloads.
	share = 8
)

// Pods knows the foreign pods of a provider. A nil one knows nothing.
type Pods struct {
	config     *rest.Config
	httpClient *http.Client
	labels     string
	limit      int64
	clock      clock.WithDelayedExecution
	debouncer  *gather.Debouncer

	mu sync.Mutex
	// stop is set while the pods are watched, and tooMany ends the current list and watch.
	stop, tooMany context.CancelFunc
	// held has the pods. A list that has not ended fills next.
	held, next *table
	// known is set once a list and a watch have succeeded. Otherwise why says what is in the way, or is empty while
	// there is no answer yet.
	known     bool
	why       string
	last      *connection.Foreign
	followers map[*follower]bool
}

// New returns the Pods of a new connection. The origin is the consumer's, and memory the budget of the provider in
// bytes. Nothing is watched before Want. The configuration must ask for Protobuf.
func New(config *rest.Config, httpClient *http.Client, origin string, memory int64, with clock.WithDelayedExecution) *Pods {
	p := &Pods{config: config, httpClient: httpClient, labels: v1alpha1.LabelOrigin + "!=" + origin, limit: memory / share, clock: with}
	p.debouncer = gather.New(with, p.publish)
	return p
}

// Want begins or ends to watch the pods. It does not wait for an answer.
func (p *Pods) Want(ctx context.Context, wanted bool) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case wanted == (p.stop != nil):
		return
	case !wanted:
		p.stop()
		p.forget("")
		p.stop, p.tooMany = nil, nil
		p.debouncer.Trigger()
		return
	}
	core, err := corev1client.NewForConfigAndClient(p.config, p.httpClient)
	if err != nil {
		connection.End(ctx, fmt.Errorf("asking for the pods of the provider: %w", err))
		return
	}
	ctx, p.stop = context.WithCancel(ctx)
	go p.run(ctx, &pages{of: p, pods: core.Pods("")})
}

// run watches the pods until ctx ends. After too many pods it waits, and begins anew.
func (p *Pods) run(ctx context.Context, from *pages) {
	silent := logr.Discard() // The Reflector would log each refusal, again and again.
	for ctx.Err() == nil {
		reading, end := context.WithCancel(ctx)
		p.mu.Lock()
		p.tooMany = end
		p.mu.Unlock()
		reflector := toolscache.NewReflectorWithOptions(from, &corev1.Pod{}, from, toolscache.ReflectorOptions{Name: "foreign pods", Logger: &silent})
		reflector.RunWithContext(log.IntoContext(reading, silent))
		end()
		select {
		case <-ctx.Done():
		case <-p.clock.After(againInterval):
		}
	}
}

// follower hears of what is known.
type follower struct {
	ctx  context.Context //nolint:containedctx // It says how long the follower wants to hear.
	tell func(*connection.Foreign)
}

// Follow calls tell with what is known after each change, but not after each pod, until ctx ends.
func (p *Pods) Follow(ctx context.Context, tell func(*connection.Foreign)) {
	if p == nil {
		return
	}
	added := &follower{ctx, tell}
	p.mu.Lock()
	if p.followers == nil {
		p.followers = map[*follower]bool{}
	}
	p.followers[added] = true
	p.mu.Unlock()
	context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.followers, added)
	})
}

// Now returns what the followers last got.
func (p *Pods) Now() *connection.Foreign {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// publish tells the followers what is known.
func (p *Pods) publish() {
	p.mu.Lock()
	var now *connection.Foreign
	switch {
	case p.stop == nil:
	case p.known:
		now = &connection.Foreign{Used: p.held.used()}
	case p.why != "":
		now = &connection.Foreign{Unknown: p.why}
	}
	p.last = now
	followers := slices.Collect(maps.Keys(p.followers))
	p.mu.Unlock()
	for _, to := range followers {
		if to.ctx.Err() == nil {
			to.tell(now)
		}
	}
}

// forget drops all pods, because of why. The lock must be held.
func (p *Pods) forget(why string) { p.held, p.next, p.known, p.why = nil, nil, false, why }

// begun notes that a watch follows the last list. The first answer is told at once.
func (p *Pods) begun() {
	p.mu.Lock()
	first := p.held != nil && !p.known
	if first {
		p.known, p.why = true, ""
	}
	p.mu.Unlock()
	if first {
		p.publish()
	}
}

// failed notes that the pods cannot be read. What is known stays, unless they may not be read any more.
func (p *Pods) failed(why string, forbidden bool) {
	p.mu.Lock()
	news := p.stop != nil && (forbidden || !p.known) && p.why != why
	if news && forbidden {
		p.forget(why)
	}
	if news {
		p.why = why
	}
	p.mu.Unlock()
	if news {
		p.debouncer.Trigger()
	}
}

// exceeded drops everything, because it would be more than the limit, and ends the list and the watch.
func (p *Pods) exceeded() {
	p.mu.Lock()
	p.forget(fmt.Sprintf("its other pods with a node are more than the manager may remember in %d KiB; raise spec.budget.memory", p.limit>>10))
	if p.tooMany != nil {
		p.tooMany()
	}
	p.mu.Unlock()
	p.debouncer.Trigger()
}
