//go:build e2e

package e2e

import (
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/e2e/testcluster"
)

// The base of specs about storage: without Spillway, straight in the provider.
var _ = Describe("A provider with a CSI driver", Ordered, Label("storage"), func() {
	const namespace = "stored"
	var (
		claim  *corev1.PersistentVolumeClaim
		pod    *corev1.Pod
		volume string
	)
	inside := func(script string) (string, error) {
		return dc.kubectl("exec", "-n", namespace, pod.Name, "--", "sh", "-c", script)
	}

	BeforeAll(func() {
		needStorage()
		dc.addStorage()
		own := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		dc.create(own, greetingIn(namespace), passwordIn(namespace))
		DeferCleanup(func() { Expect(dc.Delete(ctx, own)).To(Succeed()) })
		claim = storedClaim(namespace, "data", "2Mi")
		pod = storing(sleeper(namespace, "writer"), claim.Name)
	})

	It("makes a volume for a claim when a pod needs it", func() {
		dc.create(claim)
		Eventually(dc.events(claim)).Should(ContainElement("WaitForFirstConsumer"), "the claim waits for a pod")
		Expect(dc.claim(claim)()).To(HaveField("Status.Phase", corev1.ClaimPending))
		dc.create(pod)
		Eventually(dc.pod(pod)).Should(beReady(), "the container runs")
		bound, err := dc.claim(claim)()
		Expect(err).NotTo(HaveOccurred())
		Expect(bound).To(And(HaveField("Status.Phase", corev1.ClaimBound), HaveField("Status.Capacity", haveStorage("2Mi"))))
		volume = bound.Spec.VolumeName
		Expect(dc.volume(volume)()).To(And(
			HaveField("Spec.CSI.Driver", storageDriver),
			HaveField("Spec.NodeAffinity", Not(BeNil())), // It is in the memory of one node.
		))
		_, err = inside("echo precious >/data/word")
		Expect(err).NotTo(HaveOccurred())
	})

	It("has the data for the next pod", func() {
		Expect(dc.Delete(ctx, pod)).To(Succeed())
		Eventually(dc.pod(pod)).Should(beGone(), "the pod ends")
		pod = storing(sleeper(namespace, "writer"), claim.Name)
		dc.create(pod)
		Eventually(dc.pod(pod)).Should(beReady(), "the container runs")
		Expect(inside("cat /data/word")).To(Equal("precious"))
	})

	It("expands a volume under a running pod", func() {
		const fill = "dd if=/dev/zero of=/data/zeros bs=1M count=4"
		said, err := inside(fill)
		Expect(err).To(HaveOccurred())
		Expect(said).To(ContainSubstring("No space left on device"), "4 MiB do not fit into 2")
		dc.mustKubectl("patch", "persistentvolumeclaim", claim.Name, "-n", namespace, "-p", `{"spec":{"resources":{"requests":{"storage":"8Mi"}}}}`)
		Eventually(dc.claim(claim)).Should(HaveField("Status.Capacity", haveStorage("8Mi")), "the kubelet has made it larger")
		Expect(dc.volume(volume)()).To(HaveField("Spec.Capacity", haveStorage("8Mi")))
		said, err = inside(fill)
		Expect(err).NotTo(HaveOccurred(), said)
		Expect(inside("cat /data/word")).To(Equal("precious"))
		Expect(dc.pod(pod)()).To(HaveField("UID", pod.UID), "it is still the same pod")
	})

	It("says why it makes no volume", func() {
		large := storedClaim(namespace, "large", "1Gi")
		dc.create(large, storing(sleeper(namespace, "waiting"), large.Name))
		Eventually(dc.events(large)).Should(ContainElement("ProvisioningFailed"), "the driver has a limit")
		Expect(dc.claim(large)()).To(HaveField("Status.Phase", corev1.ClaimPending))
	})

	It("deletes the volume with its claim", func() {
		Expect(dc.Delete(ctx, pod)).To(Succeed())
		Expect(dc.Delete(ctx, claim)).To(Succeed())
		Eventually(dc.claim(claim)).Should(beGone(), "no pod uses the claim")
		Eventually(dc.volume(volume)).Should(beGone(), "the reclaim policy is Delete")
	})
})

const (
	// storageDriver is the name of the driver in hack/csi/driver.
	storageDriver = "memory.spillway.test"
	// storedClass is the name of its StorageClass.
	storedClass = "memory"
)

// needStorage skips specs that need a CSI driver where there is none.
func needStorage() {
	GinkgoHelper()
	needReal()
	if _, local := factory.(*testcluster.Local); !local {
		Skip("only nodes of local clusters have the CSI driver")
	}
}

// addStorage adds what an administrator adds for the CSI driver. It is removed when the specs of the container
// end. Pods get their volumes at once: nothing is attached to a node.
func (c *testCluster) addStorage() {
	GinkgoHelper()
	objects := []client.Object{
		&storagev1.CSIDriver{
			ObjectMeta: metav1.ObjectMeta{Name: storageDriver},
			Spec:       storagev1.CSIDriverSpec{AttachRequired: ptr.To(false)},
		},
		&storagev1.StorageClass{
			ObjectMeta:           metav1.ObjectMeta{Name: storedClass},
			Provisioner:          storageDriver,
			VolumeBindingMode:    ptr.To(storagev1.VolumeBindingWaitForFirstConsumer),
			AllowVolumeExpansion: ptr.To(true),
		},
	}
	c.create(objects...)
	DeferCleanup(func() {
		for _, object := range objects {
			Expect(c.Delete(ctx, object)).To(Succeed())
		}
	})
}

func storedClaim(namespace, name, size string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName: ptr.To(storedClass),
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		},
	}
}

// storing mounts a claim at /data.
func storing(pod *corev1.Pod, claim string) *corev1.Pod {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}})
	container := &pod.Spec.Containers[0]
	container.VolumeMounts = append(container.VolumeMounts, corev1.VolumeMount{Name: "data", MountPath: "/data"})
	return pod
}

// claim reads a claim; nil if it does not exist.
func (c *testCluster) claim(of client.Object) func() (*corev1.PersistentVolumeClaim, error) {
	return read(c, of, &corev1.PersistentVolumeClaim{})
}

// volume reads a volume; nil if it does not exist.
func (c *testCluster) volume(name string) func() (*corev1.PersistentVolume, error) {
	return read(c, &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}, &corev1.PersistentVolume{})
}

// events returns the reasons of the events of an object.
func (c *testCluster) events(of client.Object) func() ([]string, error) {
	return func() ([]string, error) {
		out, err := c.kubectl("get", "events", "-n", of.GetNamespace(), "-o", "jsonpath={.items[*].reason}",
			"--field-selector=involvedObject.uid="+string(of.GetUID()))
		return strings.Fields(out), err
	}
}

// haveStorage matches a list of resources with that size of storage.
func haveStorage(size string) OmegaMatcher {
	return WithTransform(func(resources corev1.ResourceList) string { return resources.Storage().String() }, Equal(size))
}
