package oracle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Ledger records what happens in the clusters of a lane.
type Ledger struct {
	lane   Lane
	origin string
	eyes   []*eye

	mu sync.Mutex
	// events are the objects that existed when the run began, then the events of the run.
	events   []Event
	deleted  map[string][]types.UID
	findings []string
	// broken has the reasons why the recording is incomplete.
	broken     []error
	lastChange time.Time
}

// Watch opens a ledger, and returns it when its caches are full. It ends with ctx. One ledger serves all runs
// of its lane.
func Watch(ctx context.Context, lane Lane) (*Ledger, error) {
	var system corev1.Namespace
	if err := lane.Clusters[0].Admin.Get(ctx, client.ObjectKey{Name: "kube-system"}, &system); err != nil {
		return nil, fmt.Errorf("asking the consumer who it is: %w", err)
	}
	l := &Ledger{lane: lane, origin: string(system.UID), deleted: map[string][]types.UID{}}
	for i, cluster := range lane.Clusters {
		config := rest.CopyConfig(cluster.Config())
		config.QPS, config.UserAgent = -1, "faults-oracle"
		dynamically, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, fmt.Errorf("making a client for cluster %s: %w", cluster.ID, err)
		}
		factory := dynamicinformer.NewDynamicSharedInformerFactory(dynamically, 0)
		for _, resource := range kindsOf(lane.name(i)) {
			e := newEye(lane.name(i), resource, dynamically)
			if err := e.open(factory.ForResource(resource).Informer(), l); err != nil {
				return nil, err
			}
			l.eyes = append(l.eyes, e)
		}
		factory.Start(ctx.Done())
	}
	for _, e := range l.eyes {
		if !toolscache.WaitForCacheSync(ctx.Done(), e.registration.HasSynced) {
			return nil, fmt.Errorf("reading %s of %s: %w", e.resource.Resource, e.cluster, context.Cause(ctx))
		}
	}
	return l, nil
}

// Begin forgets the previous run, after its last events were seen. The lane should be empty.
func (l *Ledger) Begin(ctx context.Context) error {
	for _, e := range l.eyes {
		if err := e.catchUp(ctx); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events, l.findings, l.broken = nil, nil, nil
	l.deleted = map[string][]types.UID{}
	for _, e := range l.eyes {
		l.events = append(l.events, e.there()...)
	}
	l.lastChange = time.Now()
	return nil
}

// note records an event.
func (l *Ledger) note(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !relevant(e.Object) {
		return
	}
	l.events = append(l.events, e)
	if e.Cluster == Consumer || l.ownNow(e.Object) {
		l.lastChange = time.Now()
	}
}

// ownNow reports whether an object in a provider is recognizably the lane's, by its labels or names.
func (l *Ledger) ownNow(obj *unstructured.Unstructured) bool {
	labels := obj.GetLabels()
	return labels[v1alpha1.LabelOrigin] == l.origin || labels[LabelLane] == l.lane.ConsumerID ||
		l.lane.ownName(obj.GetNamespace()) || l.lane.ownName(obj.GetName())
}

func (l *Ledger) noteBroken(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = append(l.broken, err)
}

// LastChange returns when the last event of the lane arrived. Leases and events do not count.
func (l *Ledger) LastChange() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastChange
}

// Settle lists all objects, and waits until the watches show them. Call it when nobody writes any more, and
// before State, Counts and Violations. It returns ErrGap if a watch broke during the run: the recording is
// then incomplete, and the run does not count.
func (l *Ledger) Settle(ctx context.Context) error {
	for _, e := range l.eyes {
		if err := e.catchUp(ctx); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.broken) > 0 {
		return fmt.Errorf("%w: %w", ErrGap, errors.Join(l.broken...))
	}
	return nil
}

// History returns the recording of the run so far.
func (l *Ledger) History() *History {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := &History{ConsumerID: l.lane.ConsumerID, Origin: l.origin, Deleted: map[string][]types.UID{}}
	h.Events = append(h.Events, l.events...)
	h.Findings = append(h.Findings, l.findings...)
	for cluster, uids := range l.deleted {
		h.Deleted[cluster] = append([]types.UID(nil), uids...)
	}
	return h
}

// State returns all objects that existed at the last Settle.
func (l *Ledger) State() (State, error) { return l.History().State() }

// Counts returns the numbers of existing objects by "cluster kind", and of all that were ever created by
// "cluster kind ever".
func (l *Ledger) Counts() map[string]int { return l.History().Counts() }

// Violations returns sentences, sorted; none if all rules held at each moment.
func (l *Ledger) Violations() []string { return l.History().Violations() }
