package crash

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// ledger records what happens to the namespaces of the providers.
type ledger struct {
	bells
	pages map[string]*page // by provider
	// violations are changes of namespaces that are not Spillway's.
	violations []string
}

// page is the record for one provider.
type page struct {
	mark provenance.Mark
	// made holds, for each name, the UIDs of the namespaces with our mark.
	made map[string][]types.UID
	// going has the UIDs of namespaces whose deletion has begun. gone has the UIDs of namespaces that no
	// longer exist.
	going, gone map[types.UID]bool
}

// watch opens a ledger, which begins with the namespaces that exist.
func watch(ctx context.Context, r *rig.Rig) (*ledger, error) {
	origin, err := r.Origin(ctx)
	if err != nil {
		return nil, err
	}
	l := &ledger{pages: map[string]*page{}}
	for _, provider := range r.Providers {
		l.pages[provider.ID] = &page{
			mark: provenance.Mark{Origin: origin, ClusterID: provider.ID},
			made: map[string][]types.UID{}, going: map[types.UID]bool{}, gone: map[types.UID]bool{},
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the cache is not full after %s", patience))
	defer cancel()
	for _, provider := range r.Providers {
		informer, err := provider.Watched.GetInformer(ctx, &corev1.Namespace{})
		if err != nil {
			return nil, fmt.Errorf("watching the namespaces of %s: %w", provider.ID, errors.Join(err, context.Cause(ctx)))
		}
		if _, err := informer.AddEventHandler(l.handler(provider.ID)); err != nil {
			return nil, fmt.Errorf("watching the namespaces of %s: %w", provider.ID, err)
		}
	}
	return l, nil
}

func (l *ledger) handler(provider string) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) { l.note(provider, "", obj) },
		UpdateFunc: func(before, after any) {
			if before.(*corev1.Namespace).ResourceVersion != after.(*corev1.Namespace).ResourceVersion {
				l.note(provider, "changed", after)
			}
		},
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			l.note(provider, "deleted", obj)
		},
	}
}

// note records that a namespace was first seen, changed or deleted.
func (l *ledger) note(provider, what string, obj any) {
	namespace := obj.(*corev1.Namespace)
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.pages[provider]
	switch {
	case !p.mark.IsOn(namespace):
		if what != "" {
			l.violations = append(l.violations, fmt.Sprintf("%s: namespace %s, which is not Spillway's, was %s", provider, namespace.Name, what))
		}
	case what == "":
		p.made[namespace.Name] = append(p.made[namespace.Name], namespace.UID)
	case what == "deleted":
		p.going[namespace.UID], p.gone[namespace.UID] = true, true
	case namespace.DeletionTimestamp != nil:
		p.going[namespace.UID] = true
	}
	l.ring()
}

// sum returns a function that adds up a count of all providers. Its caller holds the lock.
func (l *ledger) sum(of func(*page) int) func() int {
	return func() int {
		total := 0
		for _, p := range l.pages {
			total += of(p)
		}
		return total
	}
}

func made(p *page) int {
	total := 0
	for _, uids := range p.made {
		total += len(uids)
	}
	return total
}

func going(p *page) int { return len(p.going) }

func gone(p *page) int { return len(p.gone) }

// wrong returns the changes that nobody should have made.
func (l *ledger) wrong() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.violations)
}

// close ends a chapter: the counts of the next one begin at zero.
func (l *ledger) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, p := range l.pages {
		clear(p.made)
		clear(p.going)
		clear(p.gone)
	}
}
