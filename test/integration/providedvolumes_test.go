package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/manager"
)

// Both clusters run the real PersistentVolume controllers. The specs play the scheduler of home, and the CSI
// driver of eu.
var _ = Describe("A volume that the provider creates", Ordered, func() {
	var (
		t           team
		here, there string
	)

	BeforeAll(func() {
		home.make(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "spillway-volumes"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "spillway-volumes"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: manager.DefaultNamespace, Name: "spillway-manager"}},
		})
		t = newTeam()
		here, there = unique("here"), unique("there")
		eu.make(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: there}, Provisioner: "csi.example.com", AllowVolumeExpansion: ptr.To(true)})
		before := eu.limits()
		DeferCleanup(func() { change(eu, eu.limits(), func(limits *corev1.ConfigMap) { limits.Data = before.Data }) })
		eu.limit("storageClasses", there)
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.Classes = append(cb.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassStorage, Name: here, RemoteName: there, Import: true})
		})
		Eventually(home.fetching(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: here}})).Should(Succeed())
	})

	// claimed creates a claim of a class, and chooses the virtual node for it. It returns both claims.
	claimed := func(class string) (local, remote *corev1.PersistentVolumeClaim) {
		GinkgoHelper()
		local = newClaim(t.namespace)
		local.Spec.StorageClassName, local.Spec.AccessModes = &class, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		home.create(local)
		change(home, local, func(claim *corev1.PersistentVolumeClaim) {
			metav1.SetMetaDataAnnotation(&claim.ObjectMeta, field.AnnotationSelectedNode, t.cb.VirtualNodeName())
		})
		Eventually(now(eu, in(t.remote, local))).Should(And(
			HaveField("Spec.StorageClassName", HaveValue(Equal(there))), HaveField("Spec.VolumeName", BeEmpty()), HaveField("Labels", HaveKey(v1alpha1.LabelVolume))))
		remote, err := now(eu, in(t.remote, local))()
		Expect(err).NotTo(HaveOccurred())
		return local, remote
	}

	// provided plays the driver of eu, and waits until home has bound its claim. It returns the volumes.
	provided := func(local, remote *corev1.PersistentVolumeClaim) (shown, volume *corev1.PersistentVolume) {
		GinkgoHelper()
		volume = newVolume(func(source *corev1.PersistentVolumeSource) {
			source.CSI = &corev1.CSIPersistentVolumeSource{Driver: "csi.example.com", VolumeHandle: remote.Name}
		})
		volume.Spec.StorageClassName, volume.Spec.AccessModes = there, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		volume.Spec.Capacity[corev1.ResourceStorage] = resource.MustParse("2Gi")
		bindTo(volume, remote)
		eu.create(volume)
		Eventually(now(eu, remote)).Should(HaveField("Status.Phase", corev1.ClaimBound), "eu should bind its claim")
		Eventually(now(home, local)).Should(HaveField("Status.Phase", corev1.ClaimBound), "home should bind its claim")
		shown, err := now(home, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: field.VolumeName(t.cb.Spec.ClusterID, local.UID)}})()
		Expect(err).NotTo(HaveOccurred())
		return shown, volume
	}

	storage := func(quantity string) any {
		return HaveKeyWithValue(corev1.ResourceStorage, WithTransform(func(q resource.Quantity) string { return q.String() }, Equal(quantity)))
	}

	It("is mounted by pods, grows, holds up the end of its offloading, and goes with its claim", func() {
		local, remote := claimed(here)
		eu.warn(remote, "no room on this disk", func(event *corev1.Event) { event.Reason = "ProvisioningFailed" })
		t.tells(local, "ProvisioningFailed", "no room on this disk")
		shown, _ := provided(local, remote)
		Expect(shown.Spec).To(And(
			HaveField("Capacity", storage("2Gi")), HaveField("PersistentVolumeReclaimPolicy", corev1.PersistentVolumeReclaimDelete),
			HaveField("CSI.Driver", v1alpha1.StorageDriver), HaveField("ClaimRef.UID", local.UID)))
		Expect(shown.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationRemoteClaim, t.remote+"/"+remote.Name))

		By("being mounted")
		pod := t.run(withClaim(local.Name))
		Expect(eu.remotePod(t.cb, pod).Spec.Volumes).To(ContainElement(HaveField("PersistentVolumeClaim", HaveField("ClaimName", remote.Name))))

		By("growing")
		change(home, local, func(claim *corev1.PersistentVolumeClaim) {
			claim.Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("3Gi")
		})
		Eventually(now(eu, remote)).Should(HaveField("Spec.Resources.Requests", storage("3Gi")))
		before, err := now(eu, remote)()
		Expect(err).NotTo(HaveOccurred())
		grown := before.DeepCopy()
		grown.Status.Conditions = []corev1.PersistentVolumeClaimCondition{{Type: corev1.PersistentVolumeClaimFileSystemResizePending, Status: corev1.ConditionTrue}}
		Expect(eu.Status().Patch(ctx, grown, client.MergeFrom(before))).To(Succeed())
		Eventually(now(home, local)).Should(HaveField("Status.Conditions", ConsistOf(HaveField("Type", corev1.PersistentVolumeClaimFileSystemResizePending))))
		before = grown.DeepCopy()
		grown.Status.Conditions, grown.Status.Capacity[corev1.ResourceStorage] = nil, resource.MustParse("3Gi")
		Expect(eu.Status().Patch(ctx, grown, client.MergeFrom(before))).To(Succeed())
		Eventually(now(home, shown)).Should(HaveField("Spec.Capacity", storage("3Gi")))
		Eventually(now(home, local)).Should(And(HaveField("Status.Capacity", storage("3Gi")), HaveField("Status.Conditions", BeEmpty())))

		By("being left by its pod")
		home.drop(pod)
		Eventually(eu.fetching(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: pod.Name}})).Should(absent)
		t.passes()
		Expect(now(eu, remote)()).To(HaveField("UID", remote.UID))

		By("its namespace being no longer offloaded")
		var pods corev1.PodList
		Expect(home.List(ctx, &pods, client.InNamespace(t.namespace))).To(Succeed())
		for i := range pods.Items {
			Expect(client.IgnoreNotFound(home.Delete(ctx, &pods.Items[i]))).To(Succeed())
		}
		nso := newOffloading(t.namespace, nil)
		home.drop(nso)
		Eventually(home.offloading(t.namespace)).Should(HaveField("Conditions", ContainElement(isFalse(v1alpha1.ReasonVolumesRemain, remote.Name, v1alpha1.AnnotationLoseVolumes))))
		Expect(eu.namespace(t.remote)()).To(HaveField("DeletionTimestamp", BeNil()))
		Expect(now(eu, remote)()).To(And(HaveField("UID", remote.UID), HaveField("DeletionTimestamp", BeNil())))

		By("its offloading being created again, because it was deleted by mistake")
		change(home, nso, func(nso *v1alpha1.NamespaceOffloading) {
			metav1.SetMetaDataAnnotation(&nso.ObjectMeta, v1alpha1.AnnotationKeepVolumes, v1alpha1.KeepVolumes)
		})
		Eventually(home.fetching(nso)).Should(absent)
		home.offload(t.namespace, selecting(labelSpec, t.spec))
		home.offloadingIsReady(t.namespace)
		pod = t.run(withClaim(local.Name))
		Expect(eu.remotePod(t.cb, pod).Spec.Volumes).To(ContainElement(HaveField("PersistentVolumeClaim", HaveField("ClaimName", remote.Name))))
		home.drop(pod)
		Eventually(eu.fetching(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: pod.Name}})).Should(absent)
		home.drop(nso)
		Eventually(home.offloading(t.namespace)).Should(HaveField("Conditions", ContainElement(isFalse(v1alpha1.ReasonVolumesRemain, remote.Name))))

		By("somebody deleting the NamespaceMap")
		nsm := &v1alpha1.NamespaceMap{ObjectMeta: metav1.ObjectMeta{Name: t.cb.Name}}
		deleted, err := now(home, nsm)()
		Expect(err).NotTo(HaveOccurred())
		home.drop(nsm)
		Eventually(now(home, nsm)).Should(And(HaveField("UID", Not(Equal(deleted.UID))), HaveField("Status.CurrentMapping", ContainElement(HaveField("Reason", v1alpha1.ReasonVolumesRemain)))))
		Expect(home.fetching(nso)()).To(Succeed(), "it should wait for the volumes")

		By("its claim being deleted")
		home.drop(local)
		for plane, gone := range map[*controlPlane]client.Object{eu: remote, home: shown} {
			Eventually(plane.fetching(gone)).Should(absent, "%T %s", gone, gone.GetName())
		}
		Expect(home.fetching(local)()).To(absent)
		home.drop(t.cb)
		Eventually(home.fetching(nso)).Should(absent)
		Eventually(home.fetching(t.cb)).Should(absent)
	})

	It("is kept if the consumer's own class says so, until its policy says otherwise", func() {
		t = newTeam()
		own := unique("own")
		home.make(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: own}, Provisioner: v1alpha1.StorageDriver, ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimRetain)})
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.Classes = append(cb.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassStorage, Name: own, RemoteName: there})
		})
		local, remote := claimed(own)
		shown, _ := provided(local, remote)
		Expect(shown.Spec.PersistentVolumeReclaimPolicy).To(Equal(corev1.PersistentVolumeReclaimRetain))
		home.drop(local)
		Eventually(now(eu, remote)).Should(HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationKeptFor, shown.Name)))
		t.passes()
		Expect(now(eu, remote)()).To(And(HaveField("UID", remote.UID), HaveField("DeletionTimestamp", BeNil())))
		change(home, shown, func(volume *corev1.PersistentVolume) {
			volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
		})
		for plane, gone := range map[*controlPlane]client.Object{eu: remote, home: shown} {
			Eventually(plane.fetching(gone)).Should(absent, "%T %s", gone, gone.GetName())
		}
	})

	It("holds up the end of its binding, until its loss is allowed", func() {
		t = newTeam()
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.Classes = append(cb.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassStorage, Name: here, RemoteName: there, Import: true})
		})
		Eventually(home.fetching(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: here}})).Should(Succeed())
		local, remote := claimed(here)
		shown, _ := provided(local, remote)

		By("somebody taking away its label, and its class")
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Classes = nil })
		change(home, shown, func(volume *corev1.PersistentVolume) { volume.Labels = nil })
		t.passes()
		Expect(now(eu, remote)()).To(And(HaveField("UID", remote.UID), HaveField("DeletionTimestamp", BeNil())))

		By("its binding being deleted")
		home.drop(t.cb)
		var pods corev1.PodList
		Expect(home.List(ctx, &pods, client.InNamespace(t.namespace))).To(Succeed())
		for i := range pods.Items {
			Expect(client.IgnoreNotFound(home.Delete(ctx, &pods.Items[i]))).To(Succeed())
		}
		Eventually(home.condition(t.cb, v1alpha1.BindingDrained)).Should(isFalse(v1alpha1.ReasonVolumesRemain, remote.Name))
		Expect(now(eu, remote)()).To(And(HaveField("UID", remote.UID), HaveField("DeletionTimestamp", BeNil())))
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			metav1.SetMetaDataAnnotation(&cb.ObjectMeta, v1alpha1.AnnotationLoseVolumes, v1alpha1.LoseVolumes)
		})
		Eventually(home.fetching(t.cb)).Should(absent)
		Eventually(eu.fetching(remote)).Should(absent)
		Eventually(marksOn(local)).Should(BeEmpty())
	})

	It("is named on its binding, and kept, if the consumer has forgotten it", func() {
		t = newTeam()
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.Classes = append(cb.Spec.Classes, v1alpha1.ClassMapping{Kind: v1alpha1.ClassStorage, Name: here, RemoteName: there, Import: true})
		})
		Eventually(home.fetching(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: here}})).Should(Succeed())
		local, remote := claimed(here)
		shown, _ := provided(local, remote)
		running.stop()
		for _, forgotten := range []client.Object{local, shown} {
			home.drop(forgotten)
			Expect(client.IgnoreNotFound(home.Patch(ctx, forgotten, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
			Eventually(home.fetching(forgotten)).Should(absent)
		}
		running = startManager(home, manager.Options{ConsumerID: homeID})
		Eventually(home.eventsAbout(t.cb)).Should(ContainElement(And(HaveField("Reason", v1alpha1.ReasonVolumeUnclaimed), noting(remote.Name))))
		t.passes()
		Expect(now(eu, remote)()).To(And(HaveField("UID", remote.UID), HaveField("DeletionTimestamp", BeNil())))
		home.drop(t.cb)
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			metav1.SetMetaDataAnnotation(&cb.ObjectMeta, v1alpha1.AnnotationLoseVolumes, v1alpha1.LoseVolumes)
		})
	})
})
