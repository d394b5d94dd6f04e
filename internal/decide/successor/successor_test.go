package successor

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestOf(t *testing.T) {
	for owner, want := range map[[2]string]Kind{
		{"apps/v1", "ReplicaSet"}: Another, {"v1", "ReplicationController"}: Another, {"apps/v1", "StatefulSet"}: SameName, {"batch/v1", "Job"}: Failure,
		{"apps/v1", "DaemonSet"}: None, {"example.com/v1", "ReplicaSet"}: None,
	} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: owner[0], Kind: owner[1], Controller: ptr.To(true)}}}}
		if got := Of(pod); got != want || (Stays(pod) == "") != (want == Another) {
			t.Errorf("%v: %d, want %d; it stays because %q", owner, got, want, Stays(pod))
		}
	}
	if pod := (&corev1.Pod{}); Of(pod) != None || Stays(pod) == "" {
		t.Error("a pod without a controller is replaced")
	}
}
