package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("The ServiceAccount of a pod", Ordered, func() {
	var t team

	BeforeAll(func() {
		t = newTeam()
		before := eu.limits()
		DeferCleanup(func() {
			change(eu, eu.limits(), func(limits *corev1.ConfigMap) { limits.Data = before.Data })
		})
		home.make(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: "s3"}})
	})

	It("is the one to which the binding maps it, once the provider allows that and has it", func() {
		const label = "sidecar.istio.io/inject" // The running pod gets it once the manager has read the limits.
		ofS3 := func(pod *corev1.Pod) {
			pod.Spec.ServiceAccountName = "s3"
			pod.Labels = map[string]string{label: "true"}
		}
		maps := func(remoteName string) {
			change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
				cb.Spec.ServiceAccounts = []v1alpha1.ServiceAccountMapping{{Namespace: t.namespace, Name: "s3", RemoteName: v1alpha1.ServiceAccountName(remoteName)}}
			})
		}
		maps("s3-reader")
		pod := t.run(ofS3)
		t.staysHome(pod, v1alpha1.ReasonAccountNotAllowed, "ServiceAccount "+t.remote+"/s3-reader", "serviceAccounts in ConfigMap spillway-provider/limits")

		By("allowing it, although it does not exist")
		eu.limit("serviceAccounts", t.remote+"/s3-reader")
		t.staysHome(pod, v1alpha1.ReasonRejected, "error looking up service account "+t.remote+"/s3-reader", "not found")
		eu.make(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: "s3-reader"}})
		remote := t.goesOn(pod)
		Expect(remote.Spec.ServiceAccountName).To(Equal("s3-reader"))
		Expect(remote.Spec.Volumes).To(BeEmpty(), "the provider gives it no token of its API")

		By("allowing its token")
		change(eu, eu.limits(), func(limits *corev1.ConfigMap) {
			limits.Data["serviceAccounts"], limits.Data["metadataKeys"] = t.remote+"/s3-reader+token", "example.com/, "+label
		})
		Eventually(now(eu, remote)).Should(HaveField("Labels", HaveKey(label)))
		local, next := t.running(ofS3)
		Expect(next.Spec.Volumes).To(ConsistOf(HaveField("Projected.Sources", ContainElement(HaveField("ServiceAccountToken", Not(BeNil()))))))
		Expect(now(home, local)()).To(HaveField("Status.Conditions", Not(ContainElement(HaveField("Type", BeEquivalentTo(v1alpha1.PodOffloaded))))), "nothing is left out")

		By("mapping it to another one")
		maps("another")
		t.staysHome(t.run(ofS3), v1alpha1.ReasonAccountNotAllowed, t.remote+"/another")
		Expect(now(eu, remote)()).To(And(HaveField("UID", remote.UID), HaveField("DeletionTimestamp", BeNil())), "running pods stay")
	})
})
