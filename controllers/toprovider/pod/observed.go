package pod

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/status"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// remoteAnnotations returns the annotations that say where a pod is. An empty address is removed.
func remoteAnnotations(local, remote *corev1.Pod, now time.Time) map[string]string {
	return map[string]string{
		v1alpha1.AnnotationRemoteNamespace: remote.Namespace,
		v1alpha1.AnnotationRemoteName:      remote.Name,
		v1alpha1.AnnotationRemoteUID:       string(remote.UID),
		v1alpha1.AnnotationRemoteFor:       string(local.UID),
		v1alpha1.AnnotationRemoteIP:        status.RemoteIP(remote),
		v1alpha1.AnnotationLastSyncTime:    now.UTC().Format(time.RFC3339),
	}
}

// deletionCost returns the deletion cost that the pod gets with its first status, so that ReplicaSets delete the pods
// of the last tier of spec.overflow first; "" for the first tier. A cost that the user has set stays. One that
// somebody removes later stays away.
func deletionCost(s snapshot) string {
	if _, set := s.Local.Annotations[corev1.PodDeletionCost]; set || s.Tier == nil || recorded(s.Local) != nil {
		return ""
	}
	if tier := s.Tier(s.Local.Namespace); tier > 0 {
		return strconv.Itoa(spill.DeletionCost(tier))
	}
	return ""
}

// controlledBy returns an owner reference that names the remote namespace as the controller of a remote pod.
// Tools that drain a node do not evict a pod without a controller, because nobody would recreate it. The
// namespace does not recreate pods, but represents the consumer's controllers, which do. The garbage
// collector deletes nothing more than the deletion of the namespace does, and that deletion does not wait for
// the pod.
func controlledBy(namespace string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: namespace, UID: uid, Controller: ptr.To(true)}}
}

// recorded returns the remote pod that the annotations name, or nil if the pod was never started. Then the
// annotations are missing. Or they are about another pod, whose manifest was used to create this one.
func recorded(local *corev1.Pod) *corev1.Pod {
	remote := provenance.RemoteOf(local)
	if remote.UID == "" || remote.For != local.UID {
		return nil
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: remote.Namespace, Name: remote.Name, UID: remote.UID}}
}
