package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// podOption changes a pod before its creation.
type podOption = func(*corev1.Pod)

func podNamed(name string) podOption { return func(pod *corev1.Pod) { pod.Name = name } }

// withConfigMap adds a ConfigMap to the pod's environment.
func withConfigMap(name string, optional bool) podOption {
	return func(pod *corev1.Pod) {
		container := &pod.Spec.Containers[0]
		container.EnvFrom = append(container.EnvFrom, corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: name}, Optional: ptr.To(optional)}})
	}
}

// withSecret mounts a Secret.
func withSecret(name string, optional bool) podOption {
	return withVolume(corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, Optional: ptr.To(optional)}})
}

// withClaim mounts the volume of a claim.
func withClaim(name string) podOption {
	return withVolume(corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name}})
}

func withVolume(source corev1.VolumeSource) podOption {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "volume", VolumeSource: source})
	}
}

// newConfigMap and newSecret have one entry each, with the key "key".
func newConfigMap(namespace, name, value string) client.Object {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string]string{"key": value}}
}

func newSecret(namespace, name, value string) client.Object {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Data: map[string][]byte{"key": []byte(value)}}
}

// value reads the entry "key" of a ConfigMap or Secret.
func (c *controlPlane) value(object client.Object) func() (string, error) {
	return func() (string, error) {
		current, err := now(c, object)()
		return valueOf(current), err
	}
}

func valueOf(object client.Object) string {
	switch object := object.(type) {
	case *corev1.ConfigMap:
		return object.Data["key"]
	case *corev1.Secret:
		return string(object.Data["key"])
	}
	return ""
}

func setValue(object client.Object, value string) {
	switch object := object.(type) {
	case *corev1.ConfigMap:
		object.Data = map[string]string{"key": value}
	case *corev1.Secret:
		object.Data = map[string][]byte{"key": []byte(value)}
	}
}

func setImmutable(object client.Object) {
	switch object := object.(type) {
	case *corev1.ConfigMap:
		object.Immutable = ptr.To(true)
	case *corev1.Secret:
		object.Immutable = ptr.To(true)
	}
}

// changeSubresource patches an object through a subresource.
func changeSubresource(c *controlPlane, pod *corev1.Pod, subresource string, edit func(*corev1.Pod)) {
	GinkgoHelper()
	current, err := now(c, pod)()
	Expect(err).NotTo(HaveOccurred())
	before := current.DeepCopy()
	edit(current)
	Expect(c.SubResource(subresource).Patch(ctx, current, client.StrategicMergeFrom(before))).To(Succeed())
}
