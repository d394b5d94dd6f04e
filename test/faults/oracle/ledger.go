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
	// events are those of the run, after what there was when it began.
	events   []Event
	deleted  map[string][]types.UID
	findings []string
	// broken says why not all of the run is known.
	broken     []error
	lastChange time.Time
}

// Watch opens a ledger, which is filled when it returns, and ends with ctx. One
// serves for all runs of its lane.
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

// Begin forgets the run before, once its end has been seen. The lane is to be empty.
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

// note keeps an event.
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

// ownNow reports whether an object of a provider is the lane's by itself.
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

// LastChange is when the last event of the lane came in; leases and events are none.
func (l *Ledger) LastChange() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lastChange
}

// Settle waits until the watches show all that there is now, which it reads past
// them. To be called once nobody writes any more, and before State, Counts and
// Violations. It fails with ErrGap if a watch was broken during the run: what
// happened then is not known, and the run counts for nothing.
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

// History is all that has been recorded of the run so far.
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

// State is all that there was at the last Settle.
func (l *Ledger) State() (State, error) { return l.History().State() }

// Counts are numbers of objects by "cluster kind", and of those that were ever
// made by "cluster kind ever".
func (l *Ledger) Counts() map[string]int { return l.History().Counts() }

// Violations are sentences, sorted; none, if all held at each moment.
func (l *Ledger) Violations() []string { return l.History().Violations() }
