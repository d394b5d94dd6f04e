//go:build e2e

package e2e

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// An administrator has created the volume by hand, on a file server that both clusters could reach if it
// existed. So the specs say nothing about the container; but the controllers that bind claims to volumes are
// real.
var _ = Describe("A volume in a provider", Ordered, Label("pods"), func() {
	var (
		violet *team
		volume *corev1.PersistentVolume
		claim  *corev1.PersistentVolumeClaim
		pod    *corev1.Pod
	)

	BeforeAll(func() {
		violet = newTeam("violet", eu)
		claim = newClaim(violet.namespace, "data", "violet-data")
		volume = newVolume(claim)
		consumer.create(volume, claim)
		DeferCleanup(func() {
			consumer.mustKubectl("delete", "persistentvolume", volume.Name, "--ignore-not-found", "--wait=false")
		})
		Eventually(read(consumer, claim, &corev1.PersistentVolumeClaim{})).Should(
			HaveField("Status.Phase", corev1.ClaimBound), "the claim is bound in the consumer")
	})

	It("is bound there too, with the pod that needs it", func() {
		pod = sleeper(violet.namespace, "writer")
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{
			Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim.Name},
			},
		})
		consumer.create(pod)
		Eventually(violet.remotePod(pod)).ShouldNot(beGone(), "the pod with the claim is in the provider")
		Eventually(read(eu, violet.remoteOf(claim), &corev1.PersistentVolumeClaim{})).Should(
			HaveField("Status.Phase", corev1.ClaimBound), "the provider's own controller binds the claim")
	})

	It("is the same one, and nothing in the provider can delete what is on it", func() {
		remoteClaim, err := read(eu, violet.remoteOf(claim), &corev1.PersistentVolumeClaim{})()
		Expect(err).NotTo(HaveOccurred())
		remote := &corev1.PersistentVolume{}
		Expect(eu.Get(ctx, clientKey("", remoteClaim.Spec.VolumeName), remote)).To(Succeed())
		Expect(remote.Spec.PersistentVolumeSource).To(Equal(volume.Spec.PersistentVolumeSource))
		Expect(remote.Spec.PersistentVolumeReclaimPolicy).To(Equal(corev1.PersistentVolumeReclaimRetain))
		Expect(remote.Spec.StorageClassName).To(Equal(ptr.Deref(remoteClaim.Spec.StorageClassName, "")))
		Expect(remote.Labels).To(HaveKeyWithValue(v1alpha1.LabelManagedBy, v1alpha1.ManagedBySpillway))
		Expect(remote.Status.Phase).To(Equal(corev1.VolumeBound))
	})

	It("leaves the provider with the last pod that needs it, and stays in the consumer", func() {
		consumer.mustKubectl("delete", "pod", pod.Name, "-n", pod.Namespace, "--timeout=60s")
		Eventually(read(eu, violet.remoteOf(claim), &corev1.PersistentVolumeClaim{})).Should(beGone(), "nobody needs the claim")
		Eventually(func() ([]corev1.PersistentVolume, error) {
			var volumes corev1.PersistentVolumeList
			err := eu.List(ctx, &volumes)
			return volumes.Items, err
		}).Should(BeEmpty(), "nobody needs the volume")
		Expect(read(consumer, claim, &corev1.PersistentVolumeClaim{})()).To(HaveField("Status.Phase", corev1.ClaimBound))
	})
})

const storageClass = "file-server"

func newClaim(namespace, name, volume string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			StorageClassName: ptr.To(storageClass),
			VolumeName:       volume,
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

// newVolume is a volume for that claim. The consumer would delete it with the claim. Spillway sets Retain in
// the provider.
func newVolume(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:                   claim.Spec.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			StorageClassName:              storageClass,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			ClaimRef:                      &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name},
			PersistentVolumeSource: corev1.PersistentVolumeSource{
				NFS: &corev1.NFSVolumeSource{Server: "192.0.2.1", Path: "/violet"},
			},
		},
	}
}
