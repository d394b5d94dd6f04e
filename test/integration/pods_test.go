package integration

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("Pods that were made before their namespace was offloaded", Ordered, func() {
	var (
		spec = unique("spec")
		toEU *v1alpha1.ClusterBinding
	)

	BeforeAll(func() {
		toEU = home.bind(eu, spec)
		home.bind(us, unique("spec")) // Not selected: the pod must not tolerate its taint.
		home.bindingIsReady(toEU)
	})

	It("get a toleration for what is selected, and their owner is told", func() {
		namespace := home.newNamespace()
		pod := newPod(namespace)
		Eventually(func() error { return home.Create(ctx, pod) }).Should(Succeed(), "the namespace should have a ServiceAccount")
		Expect(pod).NotTo(toleratesVirtualNodes)

		// Kubernetes' creation times have a resolution of a second.
		Eventually(func() bool { return time.Since(pod.CreationTimestamp.Time) > time.Second }).Should(BeTrue(), "time should pass")
		home.offload(namespace, selecting(labelSpec, spec), podsGo(v1alpha1.PodsLocalAndRemote))
		Eventually(func() (*corev1.Pod, error) { return pod, home.Get(ctx, client.ObjectKeyFromObject(pod), pod) }).
			Should(toleratesVirtualNodes, "the pod was made too early for the policy")
		Expect(pod.Spec.Tolerations).To(ContainElement(And(
			HaveField("Key", v1alpha1.TaintVirtualNode), HaveField("Value", toEU.Spec.ClusterID))))
		Expect(virtualNodeTolerations(pod)).To(HaveLen(1))
		Eventually(home.eventsAbout(pod)).Should(ContainElement(And(
			HaveField("Reason", "OffloadedLate"),
			HaveField("Note", And(ContainSubstring("the pod is older than its NamespaceOffloading"), ContainSubstring(toEU.Spec.ClusterID), ContainSubstring("it may run on the virtual nodes"))),
		)), "the owner of the pod should be told")
	})

	It("stay as they are with podOffloadingStrategy Local", func() {
		namespace := home.newNamespace()
		pod := newPod(namespace)
		Eventually(func() error { return home.Create(ctx, pod) }).Should(Succeed(), "the namespace should have a ServiceAccount")
		home.offload(namespace, selecting(labelSpec, spec), podsGo(v1alpha1.PodsLocal))
		home.offloadingIsReady(namespace)
		Expect(home.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		Expect(pod).NotTo(toleratesVirtualNodes)
		Expect(home.eventsAbout(pod)()).To(BeEmpty())
	})
})

// newPod is a minimal pod.
func newPod(namespace string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pod"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}}},
	}
}

// dryRunPod creates a pod as a dry run.
func (c *controlPlane) dryRunPod(namespace string) func() (*corev1.Pod, error) {
	return func() (*corev1.Pod, error) {
		pod := newPod(namespace)
		return pod, c.Create(ctx, pod, client.DryRunAll)
	}
}

var toleratesVirtualNodes types.GomegaMatcher = WithTransform(virtualNodeTolerations, Not(BeEmpty()))

func virtualNodeTolerations(pod *corev1.Pod) []corev1.Toleration {
	var found []corev1.Toleration
	for _, toleration := range pod.Spec.Tolerations {
		if toleration.Key == v1alpha1.TaintVirtualNode {
			found = append(found, toleration)
		}
	}
	return found
}

// eventsAbout reads Spillway's events about an object.
func (c *controlPlane) eventsAbout(object client.Object) func() ([]eventsv1.Event, error) {
	return func() ([]eventsv1.Event, error) {
		var list eventsv1.EventList
		if err := c.List(ctx, &list); err != nil {
			return nil, err
		}
		var about []eventsv1.Event
		for _, event := range list.Items {
			if event.Regarding.UID == object.GetUID() && strings.HasPrefix(event.ReportingController, "spillway-") {
				about = append(about, event)
			}
		}
		return about, nil
	}
}
