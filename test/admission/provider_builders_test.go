package admission

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// volumeName is a volume's name as Spillway creates it.
const volumeName = "disk-0123456789abcdef0123456789abcdef"

// podOf is a pod as Spillway sends it, after changes.
func podOf(meta metav1.ObjectMeta, changes ...func(*corev1.PodSpec)) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: meta, Spec: newPod("").Spec}
	pod.Spec.AutomountServiceAccountToken = ptr.To(false)
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	for _, change := range changes {
		change(&pod.Spec)
	}
	return pod
}

// secretOf is a valid Secret of any type that the tests use.
func secretOf(meta metav1.ObjectMeta, kind corev1.SecretType) *corev1.Secret {
	if kind == corev1.SecretTypeServiceAccountToken {
		meta.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
	}
	return &corev1.Secret{ObjectMeta: meta, Type: kind}
}

func claimOf(meta metav1.ObjectMeta, volume string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: meta, Spec: corev1.PersistentVolumeClaimSpec{
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		StorageClassName: ptr.To(""),
		VolumeName:       volume,
	}}
}

// volumeOf is a volume as Spillway sends it, after changes.
func volumeOf(meta metav1.ObjectMeta, changes ...func(*corev1.PersistentVolumeSpec)) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{ObjectMeta: meta, Spec: corev1.PersistentVolumeSpec{
		AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		ClaimRef:                      &corev1.ObjectReference{Namespace: "remote", Name: "claim"},
		PersistentVolumeSource: corev1.PersistentVolumeSource{
			NFS: &corev1.NFSVolumeSource{Server: "nfs.example.com", Path: "/"},
		},
	}}
	for _, change := range changes {
		change(&volume.Spec)
	}
	return volume
}
