package quota

import (
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/internal/field/provenance"
)

// Pod is a pod on the virtual node of a binding.
type Pod struct {
	types.NamespacedName
	UID     types.UID
	Created time.Time
	Size    Amounts
	// Sent reports that the pod is, or was, in the provider. Ended reports that it has ended.
	Sent, Ended bool
}

// PodOf returns what is counted of a pod of the consumer. there reports that the provider is known to have it, although the
// pod may not say so yet.
func PodOf(pod *corev1.Pod, there bool) Pod {
	remote := provenance.RemoteOf(pod)
	return Pod{
		NamespacedName: types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, UID: pod.UID, Created: pod.CreationTimestamp.Time, Size: Of(pod),
		Sent:  there || remote.UID != "" && remote.For == pod.UID,
		Ended: pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed,
	}
}

// PodsOf returns what is counted of pods of the consumer. there reports which ones the provider is known to have, although
// they may not say so yet; nil: only those that say so.
func PodsOf(pods []corev1.Pod, there func(uid types.UID) bool) []Pod {
	all := make([]Pod, len(pods))
	for i := range pods {
		all[i] = PodOf(&pods[i], there != nil && there(pods[i].UID))
	}
	return all
}

// state is what a Book knows about a pod.
type state int

const (
	// unknown: nothing has been decided about the pod yet. It keeps room from younger pods, so that the oldest pods are
	// sent first after a restart, too.
	unknown state = iota
	// asks: the pod could be sent, and waits for room.
	asks
	// elsewhere: the pod waits for something else, and keeps nothing from others.
	elsewhere
	// counts: the pod was sent, or has got room and is about to be.
	counts
)

type account struct {
	Pod
	state state
}

// Book has the pods of a binding with spec.quota. It is safe for concurrent use: two pods never get the same room.
// Without spec.quota it is empty.
type Book struct {
	// Labels returns the labels of a namespace. Once they become known or change, Relabelled must be called.
	Labels Labels

	mu   sync.Mutex
	sums sums
	roll
	line
}

// Set sets spec.quota, and returns the pods that may be sent now. If there was none before, list must return all pods.
func (b *Book) Set(entries []Entry, list func() []Pod) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.sums.entries
	b.sums.entries = entries
	if len(entries) == 0 {
		var all []types.NamespacedName
		for _, a := range b.waiting {
			all = append(all, a.NamespacedName)
		}
		b.roll, b.line = roll{}, line{}
		return all
	}
	if len(before) == 0 {
		b.roll = roll{map[types.UID]*account{}, map[types.NamespacedName][]types.UID{}}
		for _, pod := range list() {
			if a := (&account{Pod: pod}); !pod.Ended {
				if pod.Sent {
					a.state = counts
				}
				b.enter(a)
			}
		}
	}
	return b.recount()
}

// InUse reports whether there is any quota.
func (b *Book) InUse() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.sums.entries) > 0
}

// Relabelled returns the pods that may be sent now because a namespace has other labels.
func (b *Book) Relabelled(namespace string) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	if before, known := b.sums.known[namespace]; !known || slices.Equal(before, b.sums.find(namespace)) {
		return nil // No pod of it is known, or the same quotas hold for it.
	}
	return b.recount()
}

// recount begins anew with what each pod counts for. The caller holds the lock.
func (b *Book) recount() []types.NamespacedName {
	b.sums, b.line = newSums(b.sums.entries, b.Labels), newLine(len(b.sums.entries))
	for _, a := range b.pods {
		b.place(a)
	}
	return b.settle()
}

// Note notes a pod, or a change of it, and returns the pods that may be sent now.
func (b *Book) Note(pod Pod) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.sums.entries) == 0 || !b.note(pod) {
		return nil
	}
	return b.settle()
}

// note reports whether anything has changed that others may wait for.
func (b *Book) note(pod Pod) bool {
	before := b.pods[pod.UID]
	if pod.Ended {
		return b.drop(before)
	}
	after := &account{Pod: pod, state: unknown}
	if pod.Sent {
		after.state = counts
	} else if before != nil {
		after.state = before.state // What was promised stays promised.
	}
	if before != nil && before.state == after.state && maps.Equal(before.Size, after.Size) {
		before.Pod = pod
		return false
	}
	b.drop(before)
	b.enter(after)
	b.place(after)
	return before != nil
}

// Gone forgets a pod, and returns the pods that may be sent now.
func (b *Book) Gone(uid types.UID) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.drop(b.pods[uid]) {
		return nil
	}
	return b.settle()
}

// Forget forgets the pods of a name, and returns the pods that may be sent now.
func (b *Book) Forget(name types.NamespacedName) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	dropped := false
	for _, uid := range slices.Clone(b.named[name]) {
		dropped = b.drop(b.pods[uid]) || dropped
	}
	if !dropped {
		return nil
	}
	return b.settle()
}

// Ask asks for room for a pod that can be sent otherwise. It returns why there is none, or nil. Others may have got room
// meanwhile.
func (b *Book) Ask(pod Pod) (short *Shortage, others []types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.sums.entries) == 0 {
		return nil, nil
	}
	changed := b.note(pod) // It may not be known yet.
	a := b.pods[pod.UID]
	if a == nil || a.state == counts {
		return nil, nil
	}
	settled := !b.changed
	b.move(a, asks)
	if short := b.sums.short(&a.Pod); short != nil {
		if changed {
			others = b.settle()
		}
		return short, others // It keeps nothing from others. Many may ask a quota that is full.
	}
	if settled && haveRoom(b, a.Namespace) {
		// It takes no room from others, and gives them none. Thousands may ask one after the other.
		b.move(a, counts)
		b.changed = false
		return nil, nil
	}
	others = b.settle()
	if a.state == counts {
		return nil, slices.DeleteFunc(others, func(other types.NamespacedName) bool { return other == a.NamespacedName })
	}
	return shortage(b, a), others
}

// Withdraw notes that a pod is not sent for another reason, and returns the pods that may be sent now.
func (b *Book) Withdraw(uid types.UID) []types.NamespacedName {
	b.mu.Lock()
	defer b.mu.Unlock()
	a := b.pods[uid]
	if a == nil || a.state == elsewhere || a.Sent {
		return nil
	}
	b.move(a, elsewhere)
	return b.settle()
}

// settle gives room to pods that ask for it, and returns them. It looks at all pods that wait, so not if nothing has
// changed for any of them. The caller holds the lock.
func (b *Book) settle() []types.NamespacedName {
	if b.asking == 0 || !b.changed {
		return nil
	}
	defer func() { b.changed = false }()
	var got []types.NamespacedName
	held := b.sums.clone()
	for _, a := range slices.Clone(b.waiting) {
		if a.state == elsewhere || held.short(&a.Pod) != nil {
			continue
		}
		held.add(&a.Pod, 1)
		if a.state == asks {
			b.move(a, counts)
			got = append(got, a.NamespacedName)
		}
	}
	return got
}

// move gives a pod another state. The caller holds the lock.
func (b *Book) move(a *account, to state) {
	if a.state != to {
		b.take(a)
		a.state = to
		b.place(a)
	}
}

// place counts a pod, or lets it wait. The caller holds the lock.
func (b *Book) place(a *account) {
	of := b.sums.of(a.Namespace)
	if a.state != counts {
		b.join(a, of)
		return
	}
	b.sums.add(&a.Pod, 1)
	b.touch(of)
}

func (b *Book) take(a *account) {
	of := b.sums.of(a.Namespace)
	if a.state != counts {
		b.leave(a, of)
		return
	}
	b.sums.add(&a.Pod, -1)
	b.touch(of)
}

func (b *Book) drop(a *account) bool {
	if a == nil {
		return false
	}
	b.take(a)
	b.strike(a)
	return true
}
