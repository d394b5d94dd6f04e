package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// The providers of this suite have no kubelet: the specs play it.
var _ = Describe("The life of a pod", Ordered, func() {
	var (
		spec = unique("spec")
		toEU *v1alpha1.ClusterBinding
		team string
	)

	BeforeAll(func() {
		toEU = home.bind(eu, spec)
		team = home.offloadNew(selecting(labelSpec, spec))
		home.bindingIsReady(toEU)
		home.offloadingIsReady(team)
	})

	It("is lived in the provider, with what it needs", func() {
		home.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: "settings"}, Data: map[string]string{"a": "1"}})
		pod := home.runPod(toEU, team, func(pod *corev1.Pod) {
			pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
		})
		remote := eu.remotePod(toEU, pod)
		Expect(remote.Spec.Containers[0].Image).To(Equal("example.com/app:1"))
		Expect(eu.Get(ctx, client.ObjectKey{Namespace: remote.Namespace, Name: "settings"}, &corev1.ConfigMap{})).To(Succeed())

		By("running there")
		eu.schedule(remote)
		eu.setPodStatus(remote, corev1.PodRunning)
		Eventually(home.podPhase(pod)).Should(Equal(corev1.PodRunning))
		Expect(home.fetching(pod)()).To(Succeed())
		Expect(pod.Annotations).To(HaveKeyWithValue(v1alpha1.AnnotationRemoteUID, string(remote.UID)))

		By("being deleted here")
		Expect(home.Delete(ctx, pod)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(eu.fetching(remote)()).To(Succeed())
			g.Expect(remote.DeletionTimestamp).NotTo(BeNil())
		}).Should(Succeed(), "the remote pod should be told to go")
		Expect(home.fetching(pod)()).To(Succeed(), "it may not go before the remote one has")
		Expect(eu.Delete(ctx, remote, &client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})).To(Succeed())
		Eventually(home.fetching(pod)).Should(absent, "the local pod should go after the remote one")
		Eventually(func() error {
			return eu.Get(ctx, client.ObjectKey{Namespace: remote.Namespace, Name: "settings"}, &corev1.ConfigMap{})
		}).Should(absent, "nothing needs the copy any more")
	})
})
