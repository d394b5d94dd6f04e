package podsync

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provenance"
	"github.com/spillway-io/spillway/internal/translate"
)

// remoteAnnotations say where a pod is. An empty address is removed.
func remoteAnnotations(local, remote *corev1.Pod, now time.Time) map[string]string {
	return map[string]string{
		v1alpha1.AnnotationRemoteNamespace: remote.Namespace,
		v1alpha1.AnnotationRemoteName:      remote.Name,
		v1alpha1.AnnotationRemoteUID:       string(remote.UID),
		v1alpha1.AnnotationRemoteFor:       string(local.UID),
		v1alpha1.AnnotationRemoteIP:        translate.RemoteIP(remote),
		v1alpha1.AnnotationLastSyncTime:    now.UTC().Format(time.RFC3339),
	}
}

// controlledBy names the remote namespace as the controller of a remote pod. Whoever
// drains a node leaves pods alone that have none: nobody would make them again. The
// namespace makes none either, but stands for those who do, in the consumer. Nothing is
// collected that would not go with it, nor does its deletion wait for the pod.
func controlledBy(namespace string, uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: "v1", Kind: "Namespace", Name: namespace, UID: uid, Controller: ptr.To(true)}}
}

// recorded is the remote pod that the annotations name, or nil if the pod was never
// started: then they are missing, or about the pod from whose manifest this one was
// created.
func recorded(local *corev1.Pod) *corev1.Pod {
	remote := provenance.RemoteOf(local)
	if remote.UID == "" || remote.For != local.UID {
		return nil
	}
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: remote.Namespace, Name: remote.Name, UID: remote.UID}}
}
