//go:build e2e

package e2e

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

// Nothing of the provider's storage is played: the kubelet, its CSI driver, and the programs of Kubernetes that make
// and expand volumes for claims.
var _ = Describe("A StatefulSet whose volumes the provider creates", Ordered, Label("storage"), func() {
	const replicas = 3
	var (
		indigo *team
		set    *appsv1.StatefulSet
		// made has the UIDs of the claims in the provider.
		made [replicas]types.UID
	)
	inside := func(i int, script string) (string, error) {
		return consumer.kubectl("exec", "-n", indigo.namespace, podOf(set, i).Name, "--", "sh", "-c", script)
	}
	kept := func(g Gomega, some ...int) {
		for _, i := range some {
			g.Expect(dc.claim(indigo.remoteOf(claimOf(set, i)))()).To(And(
				HaveField("UID", made[i]), HaveField("DeletionTimestamp", BeNil()), HaveField("Status.Phase", corev1.ClaimBound)))
		}
	}

	BeforeAll(func() {
		needStorage()
		dc.addStorage()
		mapStorage()
		indigo = newTeam("indigo", dc)
		set = newStatefulSet(indigo.namespace, "db", replicas, sleepingSpec())
		DeferCleanup(func() { dc.mustKubectl("uncordon", dc.onlyNode()) })
	})

	It("starts there with a volume for each pod, although the manager is killed meanwhile", func() {
		consumer.create(set)
		Eventually(dc.claim(indigo.remoteOf(claimOf(set, 0)))).ShouldNot(beGone(), "the first claim is in the provider")
		killManager()
		startManager()
		indigo.setReady(set)
		Expect(consumer.nodesOf(indigo.namespace)).To(HaveEach(virtualNode(dc.Name())))
		for i := range replicas {
			local, err := consumer.claim(claimOf(set, i))()
			Expect(err).NotTo(HaveOccurred())
			remote, err := dc.claim(indigo.remoteOf(local))()
			Expect(err).NotTo(HaveOccurred())
			made[i] = remote.UID
			Expect(local.Spec.VolumeName).To(Equal(field.VolumeName(dc.Name(), local.UID)))
			Expect(consumer.volume(local.Spec.VolumeName)()).To(And(
				HaveField("Spec.CSI.Driver", v1alpha1.StorageDriver), HaveField("Spec.CSI.VolumeHandle", string(remote.UID)),
				HaveField("Spec.NodeAffinity", Not(BeNil())), HaveField("Spec.Capacity", haveStorage("2Mi"))))
			Expect(dc.volume(remote.Spec.VolumeName)()).To(HaveField("Spec.CSI.Driver", storageDriver), "the provider's driver has made it")
		}
		Expect(dc.storedVolumes()).To(HaveLen(replicas), "no claim has a second volume")
	})

	It("has volumes that the kubelet has mounted, each its own", func() {
		for i := range replicas {
			Eventually(inside).WithArguments(i, "grep ' /data ' /proc/mounts").Should(And(
				HavePrefix("tmpfs /data tmpfs rw"), ContainSubstring("size=2048k")), "kubectl exec leads into the container")
			Expect(inside(i, fmt.Sprintf("ls -A /data && echo precious-%d >/data/word", i))).To(BeEmpty(), "nobody else has written there")
		}
	})

	It("has a volume that grows under its pod", func() {
		const fill = "dd if=/dev/zero of=/data/zeros bs=1M count=4"
		before, err := consumer.pod(podOf(set, 0))()
		Expect(err).NotTo(HaveOccurred())
		said, err := inside(0, fill)
		Expect(err).To(HaveOccurred())
		Expect(said).To(ContainSubstring("No space left on device"), "4 MiB do not fit into 2")
		claim := claimOf(set, 0)
		consumer.mustKubectl("patch", "persistentvolumeclaim", claim.Name, "-n", claim.Namespace, "-p", `{"spec":{"resources":{"requests":{"storage":"8Mi"}}}}`)
		Eventually(consumer.claim(claim)).Should(HaveField("Status.Capacity", haveStorage("8Mi")), "the provider says how large it is")
		Eventually(consumer.volume(field.VolumeName(dc.Name(), consumer.uidOf(claim)))).Should(HaveField("Spec.Capacity", haveStorage("8Mi")))
		said, err = inside(0, fill+" && rm /data/zeros")
		Expect(err).NotTo(HaveOccurred(), said)
		Expect(consumer.pod(podOf(set, 0))()).To(And(HaveField("UID", before.UID), HaveField("Status.ContainerStatuses", ConsistOf(HaveField("RestartCount", BeZero())))))
	})

	It("has its data after a drain in the provider", func() {
		before, err := consumer.pod(podOf(set, 0))()
		Expect(err).NotTo(HaveOccurred())
		dc.mustKubectl("drain", dc.onlyNode(), "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s",
			"--pod-selector="+appsv1.StatefulSetPodNameLabel+"="+before.Name)
		dc.mustKubectl("uncordon", dc.onlyNode())
		Eventually(consumer.pod(before)).Should(And(HaveField("UID", Not(Equal(before.UID))), beReady()), "another pod takes its place")
		Eventually(inside).WithArguments(0, "cat /data/word && df -k /data | tail -n 1").Should(MatchRegexp(`^precious-0\n\S+ +8192 `))
		kept(Default, 0, 1, 2)
	})

	It("has its data after it was scaled down and up", func() {
		consumer.mustKubectl("scale", "statefulset", set.Name, "-n", set.Namespace, "--replicas=2")
		Eventually(indigo.remotePod(podOf(set, 2))).Should(beGone(), "the last pod has ended")
		kept(Default, 0, 1, 2)
		consumer.mustKubectl("scale", "statefulset", set.Name, "-n", set.Namespace, "--replicas=3")
		indigo.setReady(set)
		Eventually(inside).WithArguments(2, "cat /data/word").Should(Equal("precious-2"))
		Expect(dc.storedVolumes()).To(HaveLen(replicas))
	})

	It("does not move home while it has data in the provider", func() {
		Expect(consumer.Delete(ctx, indigo.offloading())).To(Succeed())
		Eventually(indigo.waitsFor).Should(And(HavePrefix(v1alpha1.ReasonVolumesRemain+":"),
			ContainSubstring(claimOf(set, 0).Name), ContainSubstring(v1alpha1.AnnotationLoseVolumes)), "the offloading waits, and says for what")
		Eventually(consumer.nodesOf).WithArguments(indigo.namespace).Should(And(Not(BeEmpty()), HaveEach(BeEmpty())), "no pod has a node where its volume is")
		Consistently(func(g Gomega) {
			kept(g, 0, 1, 2)
			g.Expect(consumer.nodesOf(indigo.namespace)).To(HaveEach(BeEmpty()))
		}).Should(Succeed())
		Expect(dc.storedVolumes()).To(HaveLen(replicas))
	})

	It("moves home without its data once that was given up", func() {
		consumer.mustKubectl("annotate", "namespaceoffloading", v1alpha1.OffloadingName, "-n", indigo.namespace,
			v1alpha1.AnnotationLoseVolumes+"="+v1alpha1.LoseVolumes)
		Eventually(read(consumer, indigo.offloading(), &v1alpha1.NamespaceOffloading{})).Should(beGone(), "the offloading is undone")
		Expect(read(dc, indigo.remoteNamespace(), &corev1.Namespace{})()).To(beGone(), "the offloading outlives the remote namespace")
		Eventually(dc.storedVolumes).Should(BeEmpty(), "the data is gone")

		By("its team replacing the claims with ones of the consumer")
		consumer.mustKubectl("scale", "statefulset", set.Name, "-n", set.Namespace, "--replicas=0")
		Eventually(indigo.localPods).Should(BeEmpty(), "no pod waits for the claims any more")
		for i := range replicas {
			lost := claimOf(set, i)
			consumer.mustKubectl("delete", "persistentvolumeclaim", lost.Name, "-n", lost.Namespace, "--timeout=60s")
			volume := newVolume(newClaim(lost.Namespace, lost.Name, "indigo-"+lost.Name))
			consumer.create(volume, newClaim(lost.Namespace, lost.Name, volume.Name))
			DeferCleanup(func() {
				consumer.mustKubectl("delete", "persistentvolume", volume.Name, "--ignore-not-found", "--wait=false")
			})
		}
		consumer.mustKubectl("scale", "statefulset", set.Name, "-n", set.Namespace, "--replicas=3")
		indigo.setReady(set)
		Expect(consumer.nodesOf(indigo.namespace)).To(And(HaveLen(replicas), HaveEach(Not(Equal(virtualNode(dc.Name()))))))
		Eventually(consumer.storedVolumes).Should(BeEmpty(), "nothing stands for a volume that is gone")
	})
})

// importedClass is the name in the consumer of the provider's StorageClass.
const importedClass = "dc-memory"

// mapStorage does what both administrators do so that dc creates volumes for claims of the consumer. It is undone
// when the specs of the container end.
func mapStorage() {
	GinkgoHelper()
	limit := func(class string) {
		dc.mustKubectl("patch", "configmap", "limits", "-n", providerNamespace, "--type=merge", "-p", fmt.Sprintf(`{"data":{"storageClasses":%q}}`, class))
	}
	mapped := func(classes string) {
		consumer.mustKubectl("patch", "clusterbinding", dc.Name(), "--type=merge", "-p", `{"spec":{"classes":`+classes+`}}`)
	}
	limit(storedClass)
	consumer.mustKubectl("create", "clusterrolebinding", "spillway-volumes", "--clusterrole=spillway-volumes",
		"--serviceaccount="+systemNamespace+":"+managerServiceAccount)
	mapped(fmt.Sprintf(`[{"kind":%q,"name":%q,"remoteName":%q,"import":true}]`, v1alpha1.ClassStorage, importedClass, storedClass))
	DeferCleanup(func() {
		mapped("null")
		consumer.mustKubectl("delete", "clusterrolebinding", "spillway-volumes")
		limit("")
	})
	Eventually(consumer.kubectl).WithArguments("get", "storageclass", importedClass, "-o", "jsonpath={.provisioner}").
		Should(Equal(v1alpha1.StorageDriver), "the class is imported")
}

// newStatefulSet returns a StatefulSet whose pods each have a volume of the imported class at /data. All pods start
// at once.
func newStatefulSet(namespace, name string, replicas int32, spec corev1.PodSpec) *appsv1.StatefulSet {
	claim := storedClaim(namespace, "data", "2Mi")
	claim.Namespace, claim.Spec.StorageClassName = "", ptr.To(importedClass)
	spec.Containers[0].VolumeMounts = append(spec.Containers[0].VolumeMounts, corev1.VolumeMount{Name: claim.Name, MountPath: "/data"})
	labels := map[string]string{"app": name}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, PodManagementPolicy: appsv1.ParallelPodManagement, ServiceName: name,
			Selector:             &metav1.LabelSelector{MatchLabels: labels},
			Template:             corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{*claim},
		},
	}
}

func podOf(set *appsv1.StatefulSet, i int) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: fmt.Sprintf("%s-%d", set.Name, i)}}
}

func claimOf(set *appsv1.StatefulSet, i int) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: "data-" + podOf(set, i).Name}}
}

// setReady waits until all pods of a StatefulSet are Ready.
func (t *team) setReady(set *appsv1.StatefulSet) {
	GinkgoHelper()
	Eventually(read(consumer, set, &appsv1.StatefulSet{})).Should(And(
		HaveField("Status.ReadyReplicas", *set.Spec.Replicas), HaveField("Status.Replicas", *set.Spec.Replicas)), "all pods of %s are Ready", set.Name)
}

// waitsFor returns the reason and message of the offloading's condition Ready.
func (t *team) waitsFor() (string, error) {
	return consumer.kubectl("get", "namespaceoffloading", v1alpha1.OffloadingName, "-n", t.namespace, "-o",
		"jsonpath={range .status.conditions[?(@.type=='Ready')]}{.reason}: {.message}{end}")
}

// storedVolumes returns the volumes of a provider's driver, or those of the consumer that stand for one.
func (c *testCluster) storedVolumes() ([]corev1.PersistentVolume, error) {
	var all corev1.PersistentVolumeList
	err := c.List(ctx, &all)
	var stored []corev1.PersistentVolume
	for _, volume := range all.Items {
		if csi := volume.Spec.CSI; csi != nil && (csi.Driver == storageDriver || csi.Driver == v1alpha1.StorageDriver) {
			stored = append(stored, volume)
		}
	}
	return stored, err
}

// onlyNode returns the name of the cluster's node.
func (c *testCluster) onlyNode() string {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(c.List(ctx, &nodes)).To(Succeed())
	Expect(nodes.Items).To(HaveLen(1))
	return nodes.Items[0].Name
}

// uidOf reads the UID of a claim.
func (c *testCluster) uidOf(claim client.Object) types.UID {
	GinkgoHelper()
	found, err := c.claim(claim)()
	Expect(err).NotTo(HaveOccurred())
	return found.UID
}
