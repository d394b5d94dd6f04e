package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// localRange has the addresses of the pods on home's own node.
const localRange = "10.77.0.0/24"

var _ = Describe("The address of a pod", Ordered, func() {
	var (
		t             team
		local, remote *corev1.Pod
		own           *corev1.Node
	)

	BeforeAll(func() {
		t = newTeam()
		own = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: unique("own")}, Spec: corev1.NodeSpec{PodCIDR: localRange, PodCIDRs: []string{localRange}}}
		home.make(own)
		home.make(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "web"},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
		})
		local, remote = t.running(labelled("app", "web"))
	})

	// endsAt creates a pod on home's own node, and waits until the Service has exactly its address and those
	// addresses. By then Kubernetes' controller has seen everything from before.
	endsAt := func(localIP string, addresses ...string) {
		GinkgoHelper()
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: unique("local")},
			Spec:       corev1.PodSpec{NodeName: own.Name, Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1"}}},
		}
		labelled("app", "web")(pod)
		home.create(pod)
		home.setPodStatus(pod, corev1.PodRunning, func(status *corev1.PodStatus) { setAddress(status, localIP) })
		Eventually(home.endpoints(t.namespace, "web")).Should(ConsistOf(append(addresses, localIP)),
			"the Service should end at the consumer's own pods, and of the others only where there is a route")
		Expect(home.Delete(ctx, pod, atOnce)).To(Succeed())
		Eventually(home.endpoints(t.namespace, "web")).Should(ConsistOf(addresses), "the pod of home's own is gone again")
	}

	It("is not shown by default, and no Service sends anybody there", func() {
		Expect(home.condition(t.cb, v1alpha1.BindingNetwork)()).To(isTrue(v1alpha1.ReasonIsolated))
		Expect(now(home, local)()).To(And(showing(), telling("10.1.2.3"), isReady))
		endsAt("10.77.0.5")
	})

	It("is shown once the binding says that it is routed", func() {
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Network = routed("10.1.0.0/16") })
		Eventually(home.condition(t.cb, v1alpha1.BindingNetwork)).Should(isTrue(v1alpha1.ReasonRouted, "10.1.0.0/16"))
		Eventually(now(home, local)).Should(And(showing("10.1.2.3"), isReady), "the pod that runs already shows it, too")
		endsAt("10.77.0.5", "10.1.2.3")

		By("being in a range of the provider, and not outside of it")
		eu.setPodStatus(remote, corev1.PodRunning, func(status *corev1.PodStatus) { setAddress(status, "10.77.0.5") })
		Eventually(now(home, local)).Should(And(showing(), telling("10.77.0.5")), "the address is one of home's own")
		endsAt("10.77.0.5")
		eu.setPodStatus(remote, corev1.PodRunning)
		Eventually(now(home, local)).Should(showing("10.1.2.3"))
	})

	It("is not shown while an older binding, or home itself, has the range", func() {
		younger := home.bind(us, unique("spec"))
		change(home, younger, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Network = routed("10.1.2.0/24") })
		Eventually(home.condition(younger, v1alpha1.BindingNetwork)).Should(isFalse(v1alpha1.ReasonCIDROverlap, "10.1.2.0/24 overlaps 10.1.0.0/16", t.cb.Name))
		Expect(home.condition(t.cb, v1alpha1.BindingNetwork)()).To(isTrue(v1alpha1.ReasonRouted), "the older one keeps it")

		By("giving it back")
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Network = routed("10.77.0.0/16") })
		Eventually(home.condition(t.cb, v1alpha1.BindingNetwork)).Should(isFalse(v1alpha1.ReasonCIDROverlap, "10.77.0.0/16 overlaps "+localRange+" of the consumer's own pods"))
		Eventually(home.condition(younger, v1alpha1.BindingNetwork)).Should(isTrue(v1alpha1.ReasonRouted))
		Eventually(now(home, local)).Should(And(showing(), isReady))
		home.bindingIsReady(t.cb) // Pods run all the same.

		By("taking home's own node away")
		home.drop(own)
		Eventually(home.condition(t.cb, v1alpha1.BindingNetwork)).Should(isTrue(v1alpha1.ReasonRouted))
	})

	It("is not shown any more when it is routed no longer", func() {
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Network = routed("10.1.0.0/17") })
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Network = v1alpha1.ProviderNetwork{} })
		Eventually(home.condition(t.cb, v1alpha1.BindingNetwork)).Should(isTrue(v1alpha1.ReasonIsolated))
		Eventually(now(home, local)).Should(And(showing(), telling("10.1.2.3"), isReady))
	})
})

func routed(cidrs ...v1alpha1.PodCIDR) v1alpha1.ProviderNetwork {
	return v1alpha1.ProviderNetwork{Mode: v1alpha1.NetworkRouted, PodCIDRs: cidrs}
}

func setAddress(status *corev1.PodStatus, ip string) {
	status.PodIP, status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
}

// endpoints returns the addresses of a Service's endpoints.
func (c *controlPlane) endpoints(namespace, service string) func() ([]string, error) {
	return func() ([]string, error) {
		var slices discoveryv1.EndpointSliceList
		err := c.List(ctx, &slices, client.InNamespace(namespace), client.MatchingLabels{discoveryv1.LabelServiceName: service})
		var addresses []string
		for _, slice := range slices.Items {
			for _, endpoint := range slice.Endpoints {
				addresses = append(addresses, endpoint.Addresses...)
			}
		}
		return addresses, err
	}
}

// showing matches a pod whose status has these addresses, and no node's.
func showing(addresses ...string) OmegaMatcher {
	first := ""
	if len(addresses) > 0 {
		first = addresses[0]
	}
	ips := []corev1.PodIP{}
	for _, address := range addresses {
		ips = append(ips, corev1.PodIP{IP: address})
	}
	return HaveField("Status", And(HaveField("PodIP", first), HaveField("PodIPs", ConsistOf(ips)), HaveField("HostIP", ""), HaveField("HostIPs", BeEmpty())))
}

// telling matches a pod with that address in its annotation for people, or without one.
func telling(address string) OmegaMatcher {
	if address == "" {
		return HaveField("Annotations", Not(HaveKey(v1alpha1.AnnotationRemoteIP)))
	}
	return HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationRemoteIP, address))
}

var isReady = HaveField("Status.Conditions", ContainElement(And(HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue))))
