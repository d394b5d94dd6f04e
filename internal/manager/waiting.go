package manager

import (
	"fmt"
	"strconv"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/decide/spill"
)

// waitingPod is what the cache holds of a pod that waits for a node. It has only the fields that are
// read: the empty fields would be most of a trimmed Pod. A cache returns deep copies, and a deep copy
// of a waitingPod is a Pod. So nobody may list these pods with UnsafeDisableDeepCopy.
type waitingPod struct {
	metav1.ObjectMeta
	tolerations []corev1.Toleration
	affinity    *corev1.Affinity
	// unschedulable is since when the scheduler finds no node, in Unix seconds; 0: it does not say so. seen is the
	// generation that it has tried. With more bits, each pod would take 32 bytes more.
	unschedulable, seen uint32
	// nominated is the node on which the scheduler makes room.
	nominated string
	requests  unique.Handle[requests]
	// fullPod, if set, replaces the fields above. It is the whole pod if the pod can never be sent, or
	// not to every provider. It is a part of the pod, with more fields than above, if the pod names
	// PersistentVolumeClaims. Few pods do.
	fullPod *corev1.Pod
}

var _ client.Object = &waitingPod{}

// GetObjectKind implements runtime.Object.
func (*waitingPod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. The copy is a Pod.
func (w *waitingPod) DeepCopyObject() runtime.Object {
	if w.fullPod != nil {
		return w.fullPod.DeepCopy()
	}
	pod := corev1.Pod{ObjectMeta: w.ObjectMeta, Spec: corev1.PodSpec{Tolerations: w.tolerations, Affinity: w.affinity}}
	pod.Spec.Containers = requesting(w.requests.Value().size())
	pod.Status.NominatedNodeName = w.nominated
	if w.unschedulable != 0 {
		pod.Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
			LastTransitionTime: metav1.Unix(int64(w.unschedulable), 0), ObservedGeneration: int64(w.seen),
		}}
	}
	return pod.DeepCopy()
}

// requests is what a pod requests. Most waiting pods are like others, and share it.
type requests struct {
	cpu, memory int64  // In thousandths, and in bytes.
	others      string // Name=amount, separated by commas.
}

func requestsOf(pod *corev1.Pod) unique.Handle[requests] {
	var r requests
	for _, amount := range spill.SizeOf(pod) {
		switch amount.Name {
		case corev1.ResourceCPU:
			r.cpu = amount.Value
		case corev1.ResourceMemory:
			r.memory = amount.Value
		default:
			r.others += fmt.Sprintf("%s=%d,", amount.Name, amount.Value)
		}
	}
	return unique.Make(r)
}

func (r requests) size() (size spill.Size) {
	if r.cpu > 0 {
		size = append(size, spill.Amount{Name: corev1.ResourceCPU, Value: r.cpu})
	}
	if r.memory > 0 {
		size = append(size, spill.Amount{Name: corev1.ResourceMemory, Value: r.memory})
	}
	for other := range strings.SplitSeq(r.others, ",") {
		name, amount, _ := strings.Cut(other, "=")
		if value, err := strconv.ParseInt(amount, 10, 64); err == nil {
			size = append(size, spill.Amount{Name: corev1.ResourceName(name), Value: value})
		}
	}
	return size
}

// requesting returns a container that requests as much as a pod, or none if the pod requests nothing.
func requesting(requests spill.Size) []corev1.Container {
	if len(requests) == 0 {
		return nil
	}
	return []corev1.Container{{Resources: corev1.ResourceRequirements{Requests: requests.Requests()}}}
}
