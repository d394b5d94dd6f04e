package order

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// Log has what a watch has seen of the pods of a namespace.
type Log struct {
	began  time.Time
	tierOf func(node string) int

	mu      sync.Mutex
	events  []Event
	pods    map[types.UID]*seen
	changed chan struct{} // Closed at the next change.
}

// seen is what is known of a pod that exists.
type seen struct {
	tier          int
	ready, leaves bool
}

// Watch watches the pods of a namespace until ctx ends. tierOf returns the tier of a node.
func Watch(ctx context.Context, clients kubernetes.Interface, namespace string, tierOf func(node string) int) (*Log, error) {
	l := &Log{began: time.Now(), tierOf: tierOf, pods: map[types.UID]*seen{}, changed: make(chan struct{})}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	pods := factory.Core().V1().Pods().Informer()
	_, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(pod any) { l.note(pod, false) },
		UpdateFunc: func(_, pod any) { l.note(pod, false) },
		DeleteFunc: func(pod any) {
			if missed, ok := pod.(cache.DeletedFinalStateUnknown); ok {
				pod = missed.Obj
			}
			l.note(pod, true)
		},
	})
	if err != nil {
		return nil, err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), pods.HasSynced) {
		return nil, fmt.Errorf("watching the pods of namespace %s: %w", namespace, ctx.Err())
	}
	return l, nil
}

func (l *Log) note(object any, gone bool) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	is := l.pods[pod.UID]
	add := func(kind Kind) { l.add(Event{Kind: kind, Pod: pod.Name, Tier: is.tier}) }
	if is == nil {
		is = &seen{tier: Nowhere}
		l.pods[pod.UID] = is
		add(Created)
	}
	if pod.Spec.NodeName != "" && is.tier == Nowhere {
		is.tier = l.tierOf(pod.Spec.NodeName)
		add(Placed)
	}
	if isReady(pod) && !is.ready {
		is.ready = true
		add(Ready)
	}
	if (gone || pod.DeletionTimestamp != nil) && !is.leaves {
		is.leaves = true
		add(Leaves)
	}
	if gone {
		add(Gone)
		delete(l.pods, pod.UID)
	}
}

// add adds an event of this moment. The caller holds the lock.
func (l *Log) add(e Event) {
	e.At = time.Since(l.began).Truncate(time.Millisecond)
	l.events = append(l.events, e)
	close(l.changed)
	l.changed = make(chan struct{})
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// Rooms notes how many pods each tier has room for from now on.
func (l *Log) Rooms(rooms []int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for tier, n := range rooms {
		l.add(Event{Kind: Room, Tier: tier, N: n})
	}
}

// Ask notes that n pods are asked for from now on. Call it before the request.
func (l *Log) Ask(n int, note string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(Event{Kind: Asked, N: n, Note: note})
}

// Events returns the events so far.
func (l *Log) Events() []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events)
}

// State is how many pods there are.
type State struct {
	// All counts every pod that exists, also those that are asked to end.
	All, Ready int
	// In counts the pods of each tier that are Ready and not asked to end.
	In []int
}

// Await waits until the state of so many tiers is as wanted, for as long as ctx lasts.
func (l *Log) Await(ctx context.Context, tiers int, wanted func(State) bool) error {
	for {
		state, changed := l.state(tiers)
		if wanted(state) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("gave up waiting: of %d pods, %d are Ready, in each tier %v: %w", state.All, state.Ready, state.In, ctx.Err())
		}
	}
}

func (l *Log) state(tiers int) (State, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	state := State{All: len(l.pods), In: make([]int, tiers)}
	for _, is := range l.pods {
		if is.ready && !is.leaves && is.tier != Nowhere {
			state.Ready++
			state.In[is.tier]++
		}
	}
	return state, l.changed
}

// Settled returns a check that exactly n pods exist, and that all are Ready and stay.
func Settled(n int) func(State) bool {
	return func(s State) bool { return s.All == n && s.Ready == n }
}
