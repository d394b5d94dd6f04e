package manager

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// waitingPod is what the cache holds of a pod that waits for a node: only what is read of
// one, without a Pod's empty fields, which take most of a trimmed one. A cache returns
// copies, and a copy of this is a Pod: so it must not be read with UnsafeDisableDeepCopy.
type waitingPod struct {
	metav1.ObjectMeta
	tolerations []corev1.Toleration
	affinity    *corev1.Affinity
	// whole, if set, is the whole pod, because it can never be sent, or not everywhere; or more
	// than the rest of this, because it names PersistentVolumeClaims. Few do.
	whole *corev1.Pod
}

var _ client.Object = &waitingPod{}

// GetObjectKind implements runtime.Object.
func (*waitingPod) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject implements runtime.Object. The copy is a Pod.
func (w *waitingPod) DeepCopyObject() runtime.Object {
	if w.whole != nil {
		return w.whole.DeepCopy()
	}
	pod := corev1.Pod{ObjectMeta: w.ObjectMeta, Spec: corev1.PodSpec{Tolerations: w.tolerations, Affinity: w.affinity}}
	return pod.DeepCopy()
}
