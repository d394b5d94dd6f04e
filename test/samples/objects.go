package samples

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/engine/decide"
)

const (
	// label is a label of samples that their owners change.
	label = "sample"
	// key is a key in the data of ConfigMaps and Secrets.
	key = "key"
	// app is the label by which samples select pods.
	app = "app"

	storageClass = "example"
	storageSize  = "1Gi"
)

// meta returns the metadata of a sample.
func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{label: "created"}}
}

// newPod returns a pod on a node, which may need volumes.
func newPod(namespace, name, node string, needs ...corev1.VolumeSource) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: meta(namespace, name),
		Spec: corev1.PodSpec{
			NodeName:                      node,
			Containers:                    []corev1.Container{{Name: "app", Image: "example.com/app:1"}},
			TerminationGracePeriodSeconds: ptr.To[int64](30),
		},
	}
	for _, source := range needs {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "needed", VolumeSource: source})
	}
	return pod
}

// newClaim returns a claim for the volume with the same name.
func newClaim(namespace, name string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: meta(namespace, name),
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeName: name, StorageClassName: ptr.To(storageClass), AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(storageSize)}},
		},
	}
}

// Volume returns a volume for the claim with the same name.
func Volume(namespace, name string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: meta("", name),
		Spec: corev1.PersistentVolumeSpec{
			StorageClassName: storageClass, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(storageSize)},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs.example.com", Path: "/data"}},
			ClaimRef:                      &corev1.ObjectReference{Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: namespace, Name: name},
		},
	}
}

// claimSource returns a volume source for the claim with that name.
func claimSource(name string) corev1.VolumeSource {
	return corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}}
}

// hostileMeta writes a word to the metadata of a remote object.
func hostileMeta(remote client.Object, word string) {
	remote.SetLabels(decide.With(remote.GetLabels(), "example.com/hostile", word))
	remote.SetAnnotations(decide.With(remote.GetAnnotations(), "example.com/hostile", word))
}
