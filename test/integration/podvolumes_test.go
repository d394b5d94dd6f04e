package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// storageClass is the class of all volumes here. Neither cluster has a class of that name or a driver:
// volumes are bound, and never mounted.
const storageClass = "example"

// Both clusters run the real PersistentVolume controllers.
var _ = Describe("The volume of a pod", Ordered, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	It("is claimed late, and bound later still", func() {
		claim, volume := newClaim(t.namespace), newVolume(nfs)
		pod := t.run(withClaim(claim.Name))
		t.staysHome(pod, v1alpha1.ReasonReferenceNotFound, "PersistentVolumeClaim "+t.namespace+"/"+claim.Name+" does not exist")
		home.create(claim)
		t.staysHome(pod, field.ReasonClaimNotBound, "PersistentVolumeClaim "+t.namespace+"/"+claim.Name+" is not bound to a volume yet")
		bindTo(volume, claim)
		home.create(volume)
		t.goesOn(pod)
	})

	It("can be made at home first: its pod may go once the claim is bound", func() {
		claim, volume, pod := newClaim(t.namespace), newVolume(nfs), newPod(t.namespace)
		home.create(claim)
		pod.Name = unique("pod")
		withClaim(claim.Name)(pod)
		home.create(pod)
		Expect(pod).NotTo(toleratesVirtualNodes)

		By("having been chosen a virtual node for an earlier pod")
		change(home, claim, func(claim *corev1.PersistentVolumeClaim) {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, field.AnnotationSelectedNode, t.cb.VirtualNodeName())
		})
		Eventually(now(home, claim)).Should(HaveField("Annotations", Not(HaveKey(field.AnnotationSelectedNode))), "the scheduler should choose again")
		Eventually(home.eventsAbout(pod)).Should(ContainElement(And(HaveField("Reason", "ClaimReleased"), noting(claim.Name, t.cb.VirtualNodeName()))))
		Expect(now(home, pod)()).NotTo(toleratesVirtualNodes)

		By("being bound")
		bindTo(volume, claim)
		home.create(volume)
		Eventually(now(home, pod)).Should(WithTransform(virtualNodeTolerations, ConsistOf(HaveField("Value", t.cb.Spec.ClusterID))), "it should get the toleration")
	})

	It("is bound in the provider as it is at home, with the Secret of its driver, and goes with the pod", func() {
		secret := newSecret(t.namespace, unique("driver"), "1")
		home.make(secret)
		claim := newClaim(t.namespace)
		volume := newVolume(func(spec *corev1.PersistentVolumeSource) {
			spec.CSI = &corev1.CSIPersistentVolumeSource{
				Driver: "csi.example.com", VolumeHandle: "handle",
				NodeStageSecretRef: &corev1.SecretReference{Namespace: t.namespace, Name: secret.GetName()},
			}
		})
		bindTo(volume, claim)
		home.create(volume)
		home.create(claim)
		pod := t.run(withClaim(claim.Name))
		eu.remotePod(t.cb, pod)

		remoteClaim := in(t.remote, claim)
		Eventually(now(eu, remoteClaim)).Should(HaveField("Status.Phase", corev1.ClaimBound), "the controller of the provider should bind it")
		remoteClaim, err := now(eu, remoteClaim)()
		Expect(err).NotTo(HaveOccurred())
		remoteVolume, err := now(eu, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: remoteClaim.Spec.VolumeName}})()
		Expect(err).NotTo(HaveOccurred())
		Expect(remoteVolume.Spec).To(And(
			HaveField("ClaimRef.UID", remoteClaim.UID),
			HaveField("PersistentVolumeReclaimPolicy", corev1.PersistentVolumeReclaimRetain),
			HaveField("StorageClassName", storageClass),
			HaveField("CSI.VolumeHandle", "handle"),
			HaveField("CSI.NodeStageSecretRef", Equal(&corev1.SecretReference{Namespace: t.remote, Name: secret.GetName()}))))
		Expect(remoteClaim.Spec.StorageClassName).To(HaveValue(Equal(storageClass)))
		Expect(eu.value(in(t.remote, secret))()).To(Equal("1"))

		By("being left by its pod")
		home.drop(pod)
		for _, copied := range []client.Object{remoteClaim, remoteVolume, in(t.remote, secret)} {
			Eventually(eu.fetching(copied)).Should(absent, "%T %s should go", copied, copied.GetName())
		}
		for _, original := range []client.Object{claim, volume, secret} {
			Eventually(marksOn(original)).Should(BeEmpty(), "%T %s should be as it was", original, original.GetName())
		}
		Expect(now(home, claim)()).To(HaveField("Status.Phase", corev1.ClaimBound))
	})

	It("is bound again when somebody deletes the claim in the provider alone", func() {
		claim, volume := newClaim(t.namespace), newVolume(nfs)
		bindTo(volume, claim)
		home.create(volume)
		home.create(claim)
		eu.remotePod(t.cb, t.run(withClaim(claim.Name)))
		bound := And(HaveField("Status.Phase", corev1.ClaimBound))
		Eventually(now(eu, in(t.remote, claim))).Should(bound, "the controller of the provider should bind it")
		first, err := now(eu, in(t.remote, claim))()
		Expect(err).NotTo(HaveOccurred())
		before, err := now(eu, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: first.Spec.VolumeName}})()
		Expect(err).NotTo(HaveOccurred())
		change(eu, first, func(claim *corev1.PersistentVolumeClaim) { claim.Finalizers = nil })
		eu.drop(first)
		Eventually(now(eu, in(t.remote, claim))).Should(And(HaveField("UID", Not(Equal(first.UID))), bound), "the next one should be bound, too")
		Expect(now(eu, before)()).To(HaveField("UID", Not(Equal(before.UID))), "by a volume that is made anew")
	})

	It("names a Secret of the provider's own driver, once the provider allows that", func() {
		before := eu.limits()
		DeferCleanup(func() {
			change(eu, eu.limits(), func(limits *corev1.ConfigMap) { limits.Data = before.Data })
		})
		driver := home.newNamespace()
		secret := newSecret(driver, unique("driver"), "1")
		home.make(secret)
		claim := newClaim(t.namespace)
		volume := newVolume(func(spec *corev1.PersistentVolumeSource) {
			spec.CSI = &corev1.CSIPersistentVolumeSource{
				Driver: "csi.example.com", VolumeHandle: "handle",
				NodeStageSecretRef: &corev1.SecretReference{Namespace: driver, Name: secret.GetName()},
			}
		})
		bindTo(volume, claim)
		home.create(volume)
		home.create(claim)
		pod := t.run(withClaim(claim.Name))
		t.staysHome(pod, field.ReasonSecretNotAllowed, "PersistentVolume "+volume.Name, "Secret "+driver+"/"+secret.GetName(), "csiSecretNamespaces in ConfigMap spillway-provider/limits")

		eu.limit("csiSecretNamespaces", driver)
		t.goesOn(pod)
		remoteClaim, err := now(eu, in(t.remote, claim))()
		Expect(err).NotTo(HaveOccurred())
		Expect(now(eu, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: remoteClaim.Spec.VolumeName}})()).To(
			HaveField("Spec.CSI.NodeStageSecretRef", Equal(&corev1.SecretReference{Namespace: driver, Name: secret.GetName()})))
		Expect(marksOn(secret)()).To(BeEmpty(), "the consumer's Secret is not sent")
	})
})

func newClaim(namespace string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: unique("claim")},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			StorageClassName: ptr.To(storageClass),
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

func newVolume(source func(*corev1.PersistentVolumeSource)) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: unique("volume")},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			StorageClassName:              storageClass,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		},
	}
	source(&volume.Spec.PersistentVolumeSource)
	return volume
}

func nfs(source *corev1.PersistentVolumeSource) {
	source.NFS = &corev1.NFSVolumeSource{Server: "nfs.example.com", Path: "/data"}
}

// bindTo reserves a volume for that claim.
func bindTo(volume *corev1.PersistentVolume, claim *corev1.PersistentVolumeClaim) {
	volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name}
}
