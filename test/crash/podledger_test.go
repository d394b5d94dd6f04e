package crash

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// podLedger records what happens in all providers to the remote pods and to the copies of the objects that
// they use.
type podLedger struct {
	bells
	origin string
	// made holds all remote pods that each local pod has ever had, by the UID of the local pod. alive holds
	// the remote pods that still exist, whether they run or are being deleted.
	made, alive map[types.UID]map[types.UID]bool
	gone        int
	// copies counts how often each copy was created.
	copies     map[string]int
	violations []string
}

func newPodLedger(origin string) *podLedger {
	return &podLedger{origin: origin, made: map[types.UID]map[types.UID]bool{}, alive: map[types.UID]map[types.UID]bool{}, copies: map[string]int{}}
}

// watchPods opens a ledger of providers that do not have any objects of ours yet.
func watchPods(ctx context.Context, r *rig.Rig) (*podLedger, error) {
	origin, err := r.Origin(ctx)
	if err != nil {
		return nil, err
	}
	l := newPodLedger(origin)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the cache is not full after %s", patience))
	defer cancel()
	for _, provider := range r.Providers {
		mark := provenance.Mark{Origin: origin, ClusterID: provider.ID}
		for _, kind := range []client.Object{&corev1.Pod{}, &corev1.ConfigMap{}, &corev1.Secret{}} {
			informer, err := provider.Watched.GetInformer(ctx, kind)
			if err == nil {
				_, err = informer.AddEventHandler(l.handler(provider.ID, mark))
			}
			if err != nil {
				return nil, fmt.Errorf("watching %T of %s: %w", kind, provider.ID, err)
			}
		}
	}
	return l, nil
}

func (l *podLedger) handler(provider string, mark provenance.Mark) toolscache.ResourceEventHandler {
	return toolscache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool {
			if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			return mark.IsOn(obj.(client.Object))
		},
		Handler: toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(obj any) { l.added(provider, obj.(client.Object)) },
			DeleteFunc: func(obj any) {
				if unknown, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
					obj = unknown.Obj
				}
				l.deleted(obj.(client.Object))
			},
		},
	}
}

// added records that an object was created.
func (l *podLedger) added(provider string, obj client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.ring()
	if _, ok := obj.(*corev1.Pod); !ok {
		l.copies[fmt.Sprintf("%s: %T %s/%s", provider, obj, obj.GetNamespace(), obj.GetName())]++
		return
	}
	local := provenance.LocalOf(obj).UID
	if l.made[local] == nil {
		l.made[local], l.alive[local] = map[types.UID]bool{}, map[types.UID]bool{}
	}
	l.made[local][obj.GetUID()], l.alive[local][obj.GetUID()] = true, true
	if n := len(l.alive[local]); n > 1 {
		l.violations = append(l.violations, fmt.Sprintf("%d remote pods stand for %s, UID %s, at a time", n, obj.GetName(), local))
	}
}

// deleted records that a pod is gone.
func (l *podLedger) deleted(obj client.Object) {
	if _, ok := obj.(*corev1.Pod); !ok {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.alive[provenance.LocalOf(obj).UID], obj.GetUID())
	l.gone++
	l.ring()
}

// created counts the remote pods that were created. The callers of created and of finished hold the lock.
func (l *podLedger) created() int {
	total := 0
	for _, remotes := range l.made {
		total += len(remotes)
	}
	return total
}

func (l *podLedger) finished() int { return l.gone }

// wrong returns what should not have happened: pods or copies that were created more than once, and pods that
// lived at the same time.
func (l *podLedger) wrong() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	wrong := slices.Clone(l.violations)
	for local, remotes := range l.made {
		if len(remotes) != 1 {
			wrong = append(wrong, fmt.Sprintf("%d remote pods have been made for the local UID %s", len(remotes), local))
		}
	}
	for name, times := range l.copies {
		if times != 1 {
			wrong = append(wrong, fmt.Sprintf("%s has been made %d times", name, times))
		}
	}
	return wrong
}
