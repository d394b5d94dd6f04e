package integration

import (
	"io"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// occupies creates a pod on a node of a provider, with that label.
func (c *controlPlane) occupies(node *corev1.Node, cpu string, labels map[string]string) *corev1.Pod {
	GinkgoHelper()
	namespace := c.newNamespace()
	c.takesPods(namespace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: unique("theirs"), Labels: labels}, Spec: newPodSpec()}
	pod.Spec.NodeName, pod.Spec.Containers[0].Resources.Requests = node.Name, corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	c.make(pod)
	DeferCleanup(c.evict, pod)
	return pod
}

// evict removes a pod at once: no kubelet would.
func (c *controlPlane) evict(pod *corev1.Pod) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(c.Delete(ctx, pod, client.GracePeriodSeconds(0)))).To(Succeed())
}

// unreadable refuses to list and watch the pods of a provider that are not ours.
type unreadable struct{ next http.RoundTripper }

func (u unreadable) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.HasPrefix(req.URL.Query().Get("labelSelector"), v1alpha1.LabelOrigin+"!=") {
		return u.next.RoundTrip(req)
	}
	const status = `{"apiVersion":"v1","kind":"Status","status":"Failure","reason":"Forbidden","code":403,"message":"pods is forbidden"}`
	return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(status)), Request: req}, nil
}

var _ = Describe("Pods of others in a provider", func() {
	It("are missing in what the virtual node offers, unless the binding ignores them", func() {
		node := providerNode("4", "8Gi")
		us.create(node)
		theirs := us.occupies(node, "1", nil)
		cb := home.bind(us, unique("spec"))
		home.bindingIsReady(cb)
		Eventually(home.offer(cb)).Should(Equal("cpu 3, memory 8Gi, pods 109"))
		Expect(home.virtualNode(cb).Status.Capacity.Cpu().String()).To(Equal("4"), "the capacity stays")

		us.occupies(node, "1", map[string]string{v1alpha1.LabelOrigin: home.uid})
		second := us.occupies(node, "2500m", nil)
		Eventually(home.offer(cb)).Should(Equal("cpu 500m, memory 8Gi, pods 108"), "a pod of this consumer is on its virtual node already")
		us.setPodStatus(theirs, corev1.PodSucceeded)
		Eventually(home.offer(cb)).Should(Equal("cpu 1500m, memory 8Gi, pods 109"), "a pod that has ended uses nothing")
		us.evict(second)
		Eventually(home.offer(cb)).Should(Equal("cpu 4, memory 8Gi, pods 110"))

		us.occupies(node, "2", nil)
		Eventually(home.offer(cb)).Should(Equal("cpu 2, memory 8Gi, pods 109"))
		change(home, cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.VirtualNode.ForeignPods = v1alpha1.ForeignPodsIgnore })
		Eventually(home.offer(cb)).Should(Equal("cpu 4, memory 8Gi, pods 110"))
	})

	It("count nothing without the right to read them, and the binding says so", func() {
		node := providerNode("4", "8Gi")
		us.create(node)
		us.occupies(node, "1", nil)
		restart(fleet.Options{WrapTransport: func(_ string, next http.RoundTripper) http.RoundTripper { return unreadable{next} }})
		DeferCleanup(restart, fleet.Options{})
		cb := home.bind(us, unique("spec"))
		home.bindingIsReady(cb)
		Eventually(home.offer(cb)).Should(Equal("cpu 4, memory 8Gi, pods 110"))
		Eventually(home.condition(cb, v1alpha1.BindingLimited)).Should(isTrue(v1alpha1.ReasonForeignPodsUnknown, "does not let Spillway list and watch all pods"))
		restart(fleet.Options{})
		Eventually(home.offer(cb)).Should(Equal("cpu 3, memory 8Gi, pods 109"))
		Eventually(func() (*v1alpha1.ClusterBinding, error) { return home.binding(cb.Name) }).Should(
			HaveField("Status.Conditions", Not(ContainElement(HaveField("Type", v1alpha1.BindingLimited)))))
	})

	It("leave room for a pod on no single node, which it says as soon as the provider's scheduler does", func() {
		for range 2 {
			node := providerNode("4", "8Gi")
			eu.create(node)
			eu.occupies(node, "2", nil)
		}
		t := newTeam()
		Eventually(home.offer(t.cb)).Should(Equal("cpu 4, memory 16Gi, pods 218"))
		big := home.runPod(t.cb, t.namespace, func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
		})
		eu.findsNoNode(eu.remotePod(t.cb, big), "0/2 nodes are available: 2 Insufficient cpu.")
		Eventually(now(home, big)).Should(HaveField("Status.Conditions", ContainElement(And(
			HaveField("Type", corev1.PodConditionType(v1alpha1.PodOffloaded)), HaveField("Reason", v1alpha1.ReasonTooBig),
			HaveField("Message", And(ContainSubstring("it requests cpu 3, and the largest free node has cpu 2"), ContainSubstring("Insufficient cpu")))))))
	})
})
