package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Features that a node declares", Ordered, func() {
	const resizing = "InPlacePodLevelResourcesVerticalScaling"
	var (
		t             team
		node          *corev1.Node
		local, remote *corev1.Pod
	)

	resize := func(cpu string) error {
		current, err := now(home, local)()
		Expect(err).NotTo(HaveOccurred())
		before := current.DeepCopy()
		current.Spec.Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
		return home.SubResource("resize").Patch(ctx, current, client.StrategicMergeFrom(before))
	}

	BeforeAll(func() {
		if *providers != "" {
			Skip("before Kubernetes 1.36 no API server keeps what a node declares")
		}
		node = providerNode("64", "64Gi")
		node.Status.DeclaredFeatures = []string{resizing}
		eu.create(node)
		t = newTeam()
		Eventually(home.offer(t.cb)).ShouldNot(HavePrefix("cpu 0,"), "the virtual node should have room")
		local = t.run(func(pod *corev1.Pod) {
			pod.Spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")}}
		})
		remote = eu.remotePod(t.cb, local)
		binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node.Name}}
		Expect(eu.SubResource("binding").Create(ctx, remote, binding)).To(Succeed())
		Expect(eu.fetching(remote)()).To(Succeed())
		eu.setPodStatus(remote, corev1.PodRunning, func(status *corev1.PodStatus) {
			status.Resources = remote.Spec.Resources.DeepCopy() // Without resources, a pod cannot be resized.
			status.ContainerStatuses[0].Resources = &corev1.ResourceRequirements{}
		})
		Eventually(home.podPhase(local)).Should(Equal(corev1.PodRunning))
	})

	It("let the resources of a pod itself be changed, where all nodes of the provider have it", func() {
		Expect(home.virtualNode(t.cb).Status.DeclaredFeatures).To(Equal([]string{resizing}))
		Expect(resize("200m")).To(Succeed())
		Eventually(now(eu, remote)).Should(WithTransform(func(pod *corev1.Pod) string {
			return pod.Spec.Resources.Requests.Cpu().String()
		}, Equal("200m")), "the resize goes down")
	})

	It("do not, where one of the nodes lacks it", func() {
		eu.create(providerNode("8", "8Gi"))
		Eventually(now(home, home.virtualNode(t.cb))).Should(HaveField("Status.DeclaredFeatures", BeEmpty()))
		Eventually(func() error { return resize("300m") }).Should(MatchError(ContainSubstring(resizing)), "Kubernetes should refuse it")
	})
})
