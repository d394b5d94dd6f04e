package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/manager"
)

var _ = Describe("The room of a provider for volumes", Ordered, func() {
	var (
		t           team
		here, there string
		report      *storagev1.CSIStorageCapacity
	)
	driver := &storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StorageDriver}}
	shown := func() ([]storagev1.CSIStorageCapacity, error) {
		var all storagev1.CSIStorageCapacityList
		err := home.List(ctx, &all, client.InNamespace(manager.DefaultNamespace))
		return all.Items, err
	}
	// has matches the room that is shown for the class.
	has := func(size string) OmegaMatcher {
		return ContainElement(And(HaveField("StorageClassName", here), HaveField("NodeTopology.MatchLabels", HaveKeyWithValue(v1alpha1.LabelCluster, t.cb.Spec.ClusterID)),
			HaveField("Capacity", HaveValue(WithTransform(func(q resource.Quantity) string { return q.String() }, Equal(size))))))
	}
	imports := func(csi bool) {
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Import.CSI = csi })
	}

	BeforeAll(func() {
		t = newTeam()
		here, there = unique("here"), unique("there")
		provisioner := unique("csi")
		eu.make(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: there}, Provisioner: provisioner})
		eu.make(&storagev1.CSIDriver{ObjectMeta: metav1.ObjectMeta{Name: provisioner}, Spec: storagev1.CSIDriverSpec{StorageCapacity: ptr.To(true)}})
		report = &storagev1.CSIStorageCapacity{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: there}, StorageClassName: there, Capacity: ptr.To(resource.MustParse("1Gi"))}
		eu.make(report)
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.Classes = []v1alpha1.ClassMapping{{Kind: v1alpha1.ClassStorage, Name: here, RemoteName: there, Import: true}}
		})
		Eventually(home.fetching(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: here}})).Should(Succeed())
	})

	It("is not asked for, unless a binding imports it", func() {
		t.passes()
		Expect(now(home, driver)()).To(HaveField("Spec.StorageCapacity", HaveValue(BeFalse())))
		Expect(shown()).NotTo(ContainElement(HaveField("StorageClassName", here)))
		imports(true)
		Eventually(shown).Should(has("1Gi"))
		Eventually(now(home, driver)).Should(HaveField("Spec.StorageCapacity", HaveValue(BeTrue())))
	})

	It("keeps Kubernetes' scheduler from a virtual node for as long as a volume is too large", func() {
		eu.create(providerNode("8", "8Gi"))
		Eventually(home.offer(t.cb)).ShouldNot(HaveSuffix("pods 0"))
		name := unique("scheduler")
		home.runScheduler(name)
		claim := newClaim(t.namespace)
		claim.Spec.StorageClassName, claim.Spec.AccessModes = &here, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("5Gi")}
		home.create(claim)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: unique("large")}, Spec: newPodSpec()}
		withClaim(claim.Name)(pod)
		pod.Spec.SchedulerName = name
		pod.Spec.NodeSelector = map[string]string{v1alpha1.LabelCluster: t.cb.Spec.ClusterID}
		home.create(pod)
		Eventually(now(home, pod)).Should(HaveField("Status.Conditions", ContainElement(And(
			HaveField("Type", corev1.PodScheduled), HaveField("Status", corev1.ConditionFalse), HaveField("Message", ContainSubstring("did not have enough free storage"))))))
		Expect(now(home, claim)()).To(HaveField("Annotations", Not(HaveKey(field.AnnotationSelectedNode))))

		By("having more room")
		change(eu, report, func(report *storagev1.CSIStorageCapacity) { report.Capacity = ptr.To(resource.MustParse("8Gi")) })
		Eventually(shown).Should(has("8Gi"))
		Eventually(now(home, claim)).Should(HaveField("Annotations", HaveKeyWithValue(field.AnnotationSelectedNode, t.cb.VirtualNodeName())))

		By("needing no CSINode, which would limit the volumes of all nodes of the provider to one number")
		Expect(home.Get(ctx, client.ObjectKey{Name: t.cb.VirtualNodeName()}, &storagev1.CSINode{})).To(Satisfy(apierrors.IsNotFound))
	})

	It("is gone when nobody imports it any more", func() {
		imports(false)
		Eventually(now(home, driver)).Should(HaveField("Spec.StorageCapacity", HaveValue(BeFalse())))
		Eventually(shown).ShouldNot(ContainElement(HaveField("StorageClassName", here)))
	})
})
