package podreturn

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/decide/successor"
)

// DefaultAfter is how long there must have been room if spec.return does not say.
const DefaultAfter = 10 * time.Minute

// Pod is a pod of the namespace on the virtual node of a provider.
type Pod struct {
	*corev1.Pod
	// Tier is the tier of the provider.
	Tier int
	Size spill.Size
	// Away reports that the provider cannot be reached, or is paused. An evicted pod would go on running there.
	Away bool
}

// Place is where pods of a tier can run: the virtual node of a provider, or a node of the consumer.
type Place struct {
	// Name is the clusterID of the provider, or with a / in front the name of the node.
	Name string
	Node *corev1.Node
	// Free is what the largest pod could request.
	Free spill.Size
	// Promised is what pods of other namespaces will use that return now.
	Promised spill.Size
}

// Snapshot is the input of decide.
type Snapshot struct {
	Offloading *v1alpha1.NamespaceOffloading
	Tiers      []spill.Tier
	// Places are those of each tier that take pods now.
	Places [][]Place
	Pods   []Pod
	// Waiting is how many pods of the namespace wait for a node, or are to be replaced because their provider has no
	// room. Opened are the tiers that were opened for those without a node, and for the Pods.
	Waiting int
	Opened  []spill.Opened
	// Successors are the pods of the ReplicaSet from which a pod has returned last.
	Successors []spill.Successor
	// Connecting reports that a provider is to be used, and is not connected yet.
	Connecting bool
	// Shared reports that replicas share the bindings.
	Shared bool
	// Doubtful reports whether a provider has refused such a pod, and has run none since.
	Doubtful func(clusterID, namespace string, size spill.Size) bool
	Now      time.Time
}

// plan is what to do.
type plan struct {
	// move is the pod to evict, and place is where its successor can start.
	move  spill.Move
	place string
	// condition is what to report if the API server lets the pod go.
	condition condition
	again     time.Duration
}

// condition is the condition Returns.
type condition struct {
	reason, message string
	// hold: the condition that is there stays, if there is one.
	hold bool
}

func (c condition) status() metav1.ConditionStatus {
	if c.reason == v1alpha1.ReasonAllInPlace || c.reason == v1alpha1.ReasonReturning {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

func after(policy *v1alpha1.ReturnPolicy) time.Duration {
	if policy.After == nil {
		return DefaultAfter
	}
	return policy.After.Duration
}

func perMinute(policy *v1alpha1.ReturnPolicy) int32 { return max(1, policy.PerMinute) }

// decide chooses the pod to evict. It notes in memory what is free.
func decide(s Snapshot, memory *memory) plan {
	policy := s.Offloading.Spec.Return
	if s.Shared {
		return plan{move: spill.Move{Pod: -1}, condition: condition{reason: v1alpha1.ReasonBindingsShared,
			message: "replicas of the manager share the ClusterBindings (--shard), so none of them knows the room in all tiers: pods stay where they run"}}
	}
	memory.observe(s)
	last := memory.last
	free := map[string]spill.Size{}
	for _, tier := range s.Places {
		for _, place := range tier {
			free[place.Name] = place.Free
		}
	}
	memory.rooms.Observe(free, last.Patience(after(policy)), s.Now)
	memory.keep(s.Pods)
	back := spill.Back{
		First: spill.First(s.Tiers), After: after(policy), PerMinute: perMinute(policy), Last: last, Waiting: s.Waiting, Room: s.room(&memory.rooms),
	}
	p := plan{move: spill.Return(s.residents(memory), back, s.Now)}
	if p.move.Pod >= 0 {
		_, p.place = s.soonest(p.move.To, s.Pods[p.move.Pod], &memory.rooms)
	}
	if wait := memory.next.Sub(s.Now); wait > 0 && p.move.Pod >= 0 {
		p.move = spill.Move{Pod: -1, Why: spill.Refused, Wait: wait}
	}
	if p.condition, p.again = s.condition(p.move, last, memory), p.move.Wait; p.condition.hold {
		young := memory.young(s.Now, last.Patience(after(policy)))
		p.again = min(cmp.Or(p.again, young), young)
	}
	if s.Connecting && p.move.Pod < 0 { // The condition would change once more in a moment.
		p.condition.hold, p.again = true, min(cmp.Or(p.again, connecting), connecting)
	}
	if settled := last.At.Add(settle).Sub(s.Now); settled > 0 && settled <= settle && p.move.Pod < 0 && p.move.Why != spill.Refused {
		p.condition.hold, p.again = true, min(cmp.Or(p.again, settled), settled)
	}
	return p
}

// settle is how long after a return its condition stays. Its successor waits for a node meanwhile, and each return
// would cost several writes.
const settle = time.Minute

// connecting is how often it is looked whether a provider is connected. A manager that starts connects in a moment. Nothing
// tells when, because the binding says so already.
const connecting = 5 * time.Second

// residents returns the pods as spill needs them.
func (s Snapshot) residents(memory *memory) []spill.Resident {
	all := make([]spill.Resident, len(s.Pods))
	for i, pod := range s.Pods {
		all[i] = spill.Resident{
			Tier: pod.Tier, Size: pod.Size, Movable: movable(pod.Pod) && !pod.Away, Started: pod.CreationTimestamp.Time,
			Behind: slices.Contains(memory.behind, ownerOf(pod.Pod)), Retry: max(0, memory.refused[pod.UID].retry.Sub(s.Now)),
		}
	}
	return all
}

// leaves reports whether a pod is on its way out, or has ended. Such a pod is in no tier.
func leaves(pod *corev1.Pod) bool {
	return !pod.DeletionTimestamp.IsZero() || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// movable reports whether the controller of a pod creates another one, which can start anywhere.
func movable(pod *corev1.Pod) bool {
	return successor.Stays(pod) == "" && pod.Annotations[safeToEvict] != "false"
}

// safeToEvict is an annotation that teams know from Cluster Autoscaler.
const safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"

func ownerOf(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return string(owner.UID)
	}
	return ""
}

// room returns how long it takes until a tier has had room for a pod for long enough. Pods of a controller that
// request the same are alike.
func (s Snapshot) room(rooms *spill.Rooms) func(tier, pod int) time.Duration {
	known := map[string]time.Duration{}
	return func(tier, i int) time.Duration {
		pod := s.Pods[i]
		alike := fmt.Sprint(tier, ownerOf(pod.Pod), pod.Size)
		wait, ok := known[alike]
		if !ok {
			wait, _ = s.soonest(tier, pod, rooms)
			known[alike] = wait
		}
		return wait
	}
}

func (s Snapshot) soonest(tier int, pod Pod, rooms *spill.Rooms) (soonest time.Duration, in string) {
	soonest = -1
	for _, place := range s.Places[tier] {
		wait := rooms.Wait(place.Name, pod.Size, s.Now)
		if wait < 0 || soonest >= 0 && wait >= soonest || !place.Free.Minus(place.Promised).Covers(pod.Size) || !takes(place.Node, pod.Pod) {
			continue
		}
		if s.Doubtful == nil || s.Tiers[tier].Local || !s.Doubtful(v1alpha1.ClusterIDOf(place.Node.Name), pod.Namespace, pod.Size) {
			soonest, in = wait, place.Name
		}
	}
	return soonest, in
}

// condition says why no pod moves, or that pods do.
func (s Snapshot) condition(move spill.Move, last spill.Returned, memory *memory) condition {
	policy := s.Offloading.Spec.Return
	long := last.Patience(after(policy)).String()
	if last.Failures > 0 {
		long += fmt.Sprintf(" (spec.return.after doubled %d times, because returns failed)", last.Failures)
	}
	young := memory.young(s.Now, last.Patience(after(policy))) > 0
	switch move.Why {
	case spill.InPlace:
		return condition{reason: v1alpha1.ReasonAllInPlace}
	case spill.Fixed:
		return condition{reason: v1alpha1.ReasonNotMovable, message: "no pod in a later tier can move: only pods of ReplicaSets and ReplicationControllers, without PersistentVolumeClaims, return, from providers that can be reached"}
	case spill.Others:
		return condition{reason: v1alpha1.ReasonPodsWait, message: "pods of the namespace wait for a node, are to be replaced because their provider has no room for them, or wait in the provider of an earlier tier: they go first"}
	case spill.NoRoom:
		return condition{reason: v1alpha1.ReasonNoRoom, message: "no earlier tier has room for a pod of a later tier", hold: young}
	case spill.TooNew:
		return condition{reason: v1alpha1.ReasonRoomTooNew, message: "an earlier tier has room: a pod returns once that has lasted for " + long, hold: young}
	case spill.Refused:
		return condition{reason: v1alpha1.ReasonEvictionsRefused, message: memory.answers(), hold: len(memory.refused) == 0}
	case spill.Starting:
		return condition{reason: v1alpha1.ReasonSuccessorNotReady, message: "pod " + last.Pod + " has returned, and its successor is not Ready yet"}
	case spill.Failed:
		return condition{reason: v1alpha1.ReasonReturnFailed, message: fmt.Sprintf(
			"after pod %s had returned, a pod used tier %d again, or its successor did not become Ready: the next return waits for %s", last.Pod, last.From, long)}
	}
	return condition{reason: v1alpha1.ReasonReturning, message: fmt.Sprintf("pods return to earlier tiers, which have room: at most %d in a minute", perMinute(policy))}
}
