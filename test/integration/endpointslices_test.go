package integration

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/endpointslice"
	"github.com/spillway-io/spillway/controllers/toprovider/service"
)

// test/kinds tests what all kinds have in common, such as that changes follow.
var _ = Describe("The EndpointSlices of an offloaded namespace", Ordered, func() {
	// slice is what a user creates for a Service without a selector.
	slice := func(t team, addresses ...string) *discoveryv1.EndpointSlice {
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: t.namespace, Name: unique("db"), Labels: map[string]string{discoveryv1.LabelServiceName: "db"}},
			AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: ptr.To[int32](5432)}},
		}
		for _, address := range addresses {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
		}
		return slice
	}
	addresses := func(all ...string) OmegaMatcher {
		var each []any
		for _, address := range all {
			each = append(each, HaveField("Addresses", ConsistOf(address)))
		}
		return HaveField("Endpoints", HaveExactElements(each...))
	}
	list := func(ranges string) {
		eu.limit("endpointCIDRs", ranges)
		DeferCleanup(eu.limit, "endpointCIDRs", "")
	}

	It("go along for Services without a selector, with the addresses that the provider lists", func() {
		t := newTeam()
		unselecting := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "db"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 5432}}}}
		home.make(unselecting)
		t.tells(unselecting, service.ReasonServiceWithoutEndpoints, "spec.selector is empty")
		outside, both := slice(t, "10.79.0.1"), slice(t, "10.79.0.2", "10.78.0.1")
		home.make(outside)
		home.make(both)
		t.tells(outside, endpointslice.ReasonAddressNotAllowed, "endpointCIDRs in ConfigMap spillway-provider/limits: there are none")
		t.tells(both, endpointslice.ReasonAddressNotAllowed, "it is not sent")

		list("10.78.0.0/16")
		Eventually(now(eu, in(t.remote, both))).Should(And(addresses("10.78.0.1"), HaveField("Labels", HaveKeyWithValue(discoveryv1.LabelServiceName, "db"))))
		t.tells(both, endpointslice.ReasonAddressesLeftOut, "it is sent without some of its addresses")
		change(home, both, func(s *discoveryv1.EndpointSlice) { s.Endpoints = s.Endpoints[1:] })
		Eventually(now(eu, in(t.remote, both))).Should(HaveField("Annotations", Not(HaveKey(v1alpha1.AnnotationLeftOut))))
		Expect(now(home, both)()).To(HaveField("Annotations", BeEmpty()), "nothing of ours is on it")

		By("being refused where the range is not listed any more")
		eu.limit("endpointCIDRs", "10.79.0.0/16")
		Eventually(now(eu, in(t.remote, outside))).Should(addresses("10.79.0.1"))
		Eventually(eu.fetching(in(t.remote, both))).Should(absent)
	})

	It("are written once a second at most, however often they change", func() {
		t := newTeam()
		list("10.78.0.0/16")
		local := slice(t, "10.78.0.1")
		home.make(local)
		Eventually(now(eu, in(t.remote, local))).Should(addresses("10.78.0.1"))
		began, last := time.Now(), ""
		const changes = 500
		for i := range changes {
			last = fmt.Sprintf("10.78.%d.%d", 1+i/250, 1+i%250)
			local.Endpoints[0].Addresses[0] = last
			Expect(home.Update(ctx, local)).To(Succeed())
		}
		remote := in(t.remote, local)
		Eventually(now(eu, remote)).Should(addresses(last))
		took := time.Since(began)
		Expect(eu.fetching(remote)()).To(Succeed())
		Expect(remote.Generation).To(BeNumerically("<=", 2+int64(took/time.Second)), "%d changes in %s", changes, took)
	})

	It("list the pods elsewhere if the networks are routed, and those there not once more", func() {
		t := newTeam()
		list("10.77.0.0/16")
		own := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: unique("own")}, Spec: corev1.NodeSpec{PodCIDR: localRange, PodCIDRs: []string{localRange}}}
		home.create(own)
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "web"},
			Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
		}
		home.make(service)
		t.running(labelled("app", "web"))
		here := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "here", Labels: map[string]string{"app": "web"}},
			Spec:       corev1.PodSpec{NodeName: own.Name, Containers: []corev1.Container{{Name: "app", Image: "example.com/app:1"}}},
		}
		home.make(here)
		home.setPodStatus(here, corev1.PodRunning, func(status *corev1.PodStatus) { setAddress(status, "10.77.0.6") })
		Eventually(home.endpoints(t.namespace, "web")).Should(ConsistOf("10.77.0.6"))
		Eventually(eu.endpoints(t.remote, "web")).Should(ConsistOf("10.1.2.3"), "the provider lists what runs there")
		ours := func() ([]discoveryv1.EndpointSlice, error) {
			var slices discoveryv1.EndpointSliceList
			err := eu.List(ctx, &slices, client.InNamespace(t.remote), client.MatchingLabels{discoveryv1.LabelManagedBy: endpointslice.EndpointSliceManager})
			return slices.Items, err
		}
		Expect(ours()).To(BeEmpty(), "the networks are not routed")

		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Network = routed("10.1.0.0/16") })
		Eventually(home.endpoints(t.namespace, "web")).Should(ConsistOf("10.77.0.6", "10.1.2.3"))
		Eventually(eu.endpoints(t.remote, "web")).Should(ConsistOf("10.77.0.6", "10.1.2.3"))
		Expect(ours()).To(ConsistOf(addresses("10.77.0.6")))

		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Network = v1alpha1.ProviderNetwork{} })
		Eventually(ours).Should(BeEmpty())
		Expect(eu.endpoints(t.remote, "web")()).To(ConsistOf("10.1.2.3"))
	})
})
