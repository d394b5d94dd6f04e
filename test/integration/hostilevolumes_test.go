package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/manager"
)

// The specs play the scheduler of home, and a driver of eu that lies.
var _ = Describe("A claim for a volume of a provider", Ordered, func() {
	var (
		t                             team
		here, there, atOnce, unlisted string
	)

	BeforeAll(func() {
		home.make(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "spillway-stores"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "spillway-volumes"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: manager.DefaultNamespace, Name: "spillway-manager"}},
		})
		running.stop()
		running = startManager(home, manager.Options{ConsumerID: homeID, Provides: true})
		DeferCleanup(func() {
			running.stop()
			running = startManager(home, manager.Options{ConsumerID: homeID})
		})
		t = newTeam()
		here, there, atOnce, unlisted = unique("here"), unique("there"), unique("at-once"), unique("unlisted")
		for _, name := range []string{there, unlisted} {
			eu.make(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "csi.example.com", VolumeBindingMode: ptr.To(storagev1.VolumeBindingWaitForFirstConsumer)})
		}
		for name, mode := range map[string]storagev1.VolumeBindingMode{
			here: storagev1.VolumeBindingWaitForFirstConsumer, unlisted: storagev1.VolumeBindingWaitForFirstConsumer, atOnce: storagev1.VolumeBindingImmediate,
		} {
			home.make(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: v1alpha1.StorageDriver, VolumeBindingMode: &mode})
		}
		before := eu.limits()
		DeferCleanup(func() { change(eu, eu.limits(), func(limits *corev1.ConfigMap) { limits.Data = before.Data }) })
		eu.limit("storageClasses", there)
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			for name, remote := range map[string]string{here: there, atOnce: there, unlisted: unlisted} {
				cb.Spec.Classes = append(cb.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassStorage, Name: name, RemoteName: remote})
			}
		})
	})

	claim := func(class string) *corev1.PersistentVolumeClaim {
		GinkgoHelper()
		local := newClaim(t.namespace)
		local.Spec.StorageClassName, local.Spec.AccessModes = &class, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		home.create(local)
		return local
	}
	choose := func(local *corev1.PersistentVolumeClaim) {
		GinkgoHelper()
		change(home, local, func(claim *corev1.PersistentVolumeClaim) {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, field.AnnotationSelectedNode, t.cb.VirtualNodeName())
		})
	}
	says := func(reason string) OmegaMatcher { return ContainElement(HaveField("Reason", reason)) }

	// standIn is a volume for the claim, as a manager creates it for a class that retains volumes.
	standIn := func(clusterID string, local *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
		volume := newVolume(func(source *corev1.PersistentVolumeSource) {
			source.CSI = &corev1.CSIPersistentVolumeSource{Driver: v1alpha1.StorageDriver, VolumeHandle: "remote-uid"}
		})
		volume.Name, volume.Spec.StorageClassName, volume.Spec.AccessModes = field.VolumeName(clusterID, local.UID), here, local.Spec.AccessModes
		volume.Labels, volume.Finalizers = map[string]string{v1alpha1.LabelSyncedTo + clusterID: v1alpha1.SyncedToTrue}, []string{v1alpha1.FinalizerSync + clusterID}
		volume.Annotations = map[string]string{v1alpha1.AnnotationRemoteClaim: t.remote + "/" + local.Name, field.AnnotationProvisionedBy: v1alpha1.StorageDriver}
		volume.Spec.ClaimRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "PersistentVolumeClaim", Namespace: local.Namespace, Name: local.Name, UID: local.UID}
		volume.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: v1alpha1.LabelCluster, Operator: corev1.NodeSelectorOpIn, Values: []string{clusterID}}},
		}}}}
		return volume
	}

	It("names its provider if no pod chooses one", func() {
		local := claim(atOnce)
		Eventually(home.eventsAbout(local)).Should(ContainElement(And(
			HaveField("Reason", v1alpha1.ReasonProviderNotChosen), HaveField("Note", And(ContainSubstring(v1alpha1.AnnotationProvider), ContainSubstring(t.cb.Spec.ClusterID))))))
		Expect(eu.fetching(in(t.remote, local))()).To(absent)
		change(home, local, func(claim *corev1.PersistentVolumeClaim) {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, v1alpha1.AnnotationProvider, t.cb.Spec.ClusterID)
		})
		Eventually(now(eu, in(t.remote, local))).Should(HaveField("Labels", HaveKey(v1alpha1.LabelVolume)))
	})

	It("goes back to the scheduler if the provider refuses it", func() {
		local := claim(unlisted)
		choose(local)
		Eventually(now(home, local)).Should(HaveField("Annotations", Not(HaveKey(field.AnnotationSelectedNode))))
		Eventually(home.eventsAbout(local)).Should(says(v1alpha1.ReasonStorageNotAllowed))
		Eventually(marksOn(local)).Should(BeEmpty())

		By("being allowed, and chosen again")
		eu.limit("storageClasses", there+","+unlisted)
		choose(local)
		Eventually(now(eu, in(t.remote, local))).Should(HaveField("Labels", HaveKey(v1alpha1.LabelVolume)))
	})

	It("loses a volume that the scheduler does not want any more", func() {
		const other = "elsewhere"
		running.stop()
		local := claim(here)
		change(home, local, func(claim *corev1.PersistentVolumeClaim) {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, field.AnnotationSelectedNode, v1alpha1.VirtualNodePrefix+other)
			metav1.SetMetaDataLabel(&claim.ObjectMeta, v1alpha1.LabelSyncedTo+t.cb.Spec.ClusterID, v1alpha1.SyncedToTrue)
		})
		unwanted := standIn(t.cb.Spec.ClusterID, local)
		home.create(unwanted)

		By("another one having a disk of home, before a manager has created its volume")
		taken, disk := claim(here), newVolume(nfs)
		change(home, taken, func(claim *corev1.PersistentVolumeClaim) {
			metav1.SetMetaDataLabel(&claim.ObjectMeta, v1alpha1.LabelSyncedTo+t.cb.Spec.ClusterID, v1alpha1.SyncedToTrue)
		})
		disk.Spec.StorageClassName, disk.Spec.AccessModes = here, taken.Spec.AccessModes
		bindTo(disk, taken)
		home.make(disk)
		Eventually(now(home, taken)).Should(And(HaveField("Spec.VolumeName", disk.Name), HaveField("Status.Phase", corev1.ClaimBound)))
		late := standIn(t.cb.Spec.ClusterID, taken)
		home.create(late)
		Eventually(now(home, late)).Should(HaveField("Spec.ClaimRef.UID", BeEmpty()), "Kubernetes would bind a later claim of that name to it")
		running = startManager(home, manager.Options{ConsumerID: homeID, Provides: true})
		Eventually(func(g Gomega) {
			held, err := now(home, unwanted)()
			g.Expect(client.IgnoreNotFound(err)).To(Succeed())
			g.Expect(err != nil || held.DeletionTimestamp != nil).To(BeTrue(), "the manager should delete it")
		}).Should(Succeed())
		wanted := standIn(other, local)
		wanted.Finalizers = nil
		home.make(wanted)
		Eventually(now(home, local)).Should(HaveField("Spec.VolumeName", wanted.Name))
		Eventually(home.fetching(unwanted)).Should(absent)
		Eventually(home.fetching(late)).Should(absent)
	})

	It("shows nothing of a volume but its size", func() {
		local := claim(here)
		choose(local)
		Eventually(now(eu, in(t.remote, local))).Should(HaveField("Labels", HaveKey(v1alpha1.LabelVolume)))
		remote, err := now(eu, in(t.remote, local))()
		Expect(err).NotTo(HaveOccurred())
		theirs := newVolume(func(source *corev1.PersistentVolumeSource) {
			source.HostPath = &corev1.HostPathVolumeSource{Path: "/etc"}
		})
		theirs.Annotations = map[string]string{field.AnnotationProvisionedBy: v1alpha1.StorageDriver}
		theirs.Spec.StorageClassName, theirs.Spec.AccessModes = there, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce, corev1.ReadWriteMany}
		theirs.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("5Gi")
		theirs.Spec.NodeAffinity = &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"home-node"}}},
		}}}}
		bindTo(theirs, remote)
		eu.create(theirs)
		Eventually(now(eu, remote)).Should(HaveField("Status.Phase", corev1.ClaimBound), "eu should bind its claim to the volume of somebody else")
		Eventually(now(home, local)).Should(HaveField("Status.Phase", corev1.ClaimBound))
		shown := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: field.VolumeName(t.cb.Spec.ClusterID, local.UID)}}
		has := func(size string) OmegaMatcher {
			return HaveField("Spec.Capacity", HaveKeyWithValue(corev1.ResourceStorage, WithTransform(func(q resource.Quantity) string { return q.String() }, Equal(size))))
		}
		Eventually(now(home, shown)).Should(And(has("5Gi"),
			HaveField("Spec.HostPath", BeNil()), HaveField("Spec.CSI", HaveField("VolumeHandle", string(remote.UID))), HaveField("Spec.StorageClassName", here),
			HaveField("Spec.AccessModes", ConsistOf(corev1.ReadWriteOnce)), HaveField("Spec.ClaimRef.UID", local.UID),
			HaveField("Spec.NodeAffinity.Required.NodeSelectorTerms", ConsistOf(HaveField("MatchExpressions", ConsistOf(
				And(HaveField("Key", v1alpha1.LabelCluster), HaveField("Values", ConsistOf(t.cb.Spec.ClusterID)))))))))

		By("its size shrinking")
		before, err := now(eu, remote)()
		Expect(err).NotTo(HaveOccurred())
		small := before.DeepCopy()
		small.Status.Capacity[corev1.ResourceStorage] = resource.MustParse("1Gi")
		Expect(eu.Status().Patch(ctx, small, client.MergeFrom(before))).To(Succeed())
		Eventually(home.eventsAbout(local)).Should(says(v1alpha1.ReasonVolumeTooSmall))
		Expect(now(home, shown)()).To(has("5Gi"))

		By("somebody removing the label of the volume that stands for it")
		change(home, shown, func(volume *corev1.PersistentVolume) { volume.Labels = nil })
		Eventually(now(home, shown)).Should(HaveField("Labels", HaveKey(v1alpha1.LabelSyncedTo+t.cb.Spec.ClusterID)))

		By("its claim being deleted in eu")
		change(eu, remote, func(claim *corev1.PersistentVolumeClaim) { claim.Finalizers = nil })
		eu.drop(remote)
		Eventually(eu.fetching(remote)).Should(absent)
		t.passes()
		Expect(now(home, shown)()).To(HaveField("Spec.CSI.VolumeHandle", string(remote.UID)))
		Expect(eu.fetching(in(t.remote, local))()).To(absent, "a second volume would be empty")
	})

	It("has its VolumeAttributesClass changed", func() {
		silver, gold := unique("silver"), unique("gold")
		local := claim(here)
		choose(local)
		Eventually(now(home, local)).Should(HaveField("Status.Phase", corev1.ClaimBound))
		remote, err := now(eu, in(t.remote, local))()
		Expect(err).NotTo(HaveOccurred())
		volume := newVolume(nfs)
		volume.Spec.StorageClassName, volume.Spec.AccessModes = there, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		bindTo(volume, remote)
		eu.create(volume)
		Eventually(now(eu, remote)).Should(HaveField("Status.Phase", corev1.ClaimBound))
		change(home, local, func(claim *corev1.PersistentVolumeClaim) { claim.Spec.VolumeAttributesClassName = &silver })
		Eventually(home.eventsAbout(local)).Should(says(v1alpha1.ReasonClassNotMapped))

		By("being mapped, and listed")
		eu.make(&storagev1.VolumeAttributesClass{ObjectMeta: metav1.ObjectMeta{Name: gold}, DriverName: "csi.example.com", Parameters: map[string]string{"a": "b"}})
		eu.limit("volumeAttributesClasses", gold)
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.Classes = append(cb.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassVolumeAttributes, Name: silver, RemoteName: gold})
		})
		Eventually(now(eu, remote)).Should(HaveField("Spec.VolumeAttributesClassName", Equal(ptr.To(gold))))
	})
})
