package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("The deletion of a pod", Ordered, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	It("keeps the grace period, and shortens it if asked again", func() {
		local, remote := t.running()
		Expect(home.Delete(ctx, local, grace(600))).To(Succeed())
		Eventually(now(eu, remote)).Should(HaveField("DeletionGracePeriodSeconds", HaveValue(BeEquivalentTo(600))), "the remote pod has the time that the local one has")
		eu.setPodStatus(remote, corev1.PodRunning, func(status *corev1.PodStatus) { status.Message = "shutting down" })
		Eventually(now(home, local)).Should(HaveField("Status.Message", "shutting down"), "the status still comes")

		Expect(home.Delete(ctx, local, grace(60))).To(Succeed())
		Eventually(now(eu, remote)).Should(HaveField("DeletionGracePeriodSeconds", HaveValue(BeEquivalentTo(60))), "the remote pod has less time, too")
		Expect(home.fetching(local)()).To(Succeed(), "it may not go before the remote one has")
		Expect(eu.Delete(ctx, remote, atOnce)).To(Succeed())
		Eventually(home.fetching(local)).Should(absent, "the local pod goes after the remote one")
	})

	It("needs no provider for a pod that was never sent", func() {
		local := t.run(withConfigMap("missing", false))
		t.staysHome(local, v1alpha1.ReasonReferenceNotFound, "missing")
		Expect(home.Delete(ctx, local)).To(Succeed())
		Eventually(home.fetching(local)).Should(absent, "no kubelet would let it go")
	})

	It("waits while the binding is paused, as all else does", slow, func() {
		local, remote := t.running()
		leaving, staying := t.running()
		forced, orphan := t.running()
		// The condition comes from the same cache that triggers the reconciles.
		t.pause(true)
		Eventually(home.condition(t.cb, v1alpha1.BindingReady)).Should(isFalse(v1alpha1.ReasonPaused), "the binding should be paused")
		waiting := t.run()
		Expect(home.Delete(ctx, leaving)).To(Succeed())
		Expect(home.Delete(ctx, forced, atOnce)).To(Succeed())
		eu.setPodStatus(remote, corev1.PodSucceeded)
		Consistently(func(g Gomega) {
			g.Expect(eu.standIns(t.cb, waiting)()).To(BeEmpty())
			g.Expect(now(eu, staying)()).To(HaveField("DeletionTimestamp", BeNil()))
			g.Expect(now(eu, orphan)()).To(HaveField("DeletionTimestamp", BeNil()))
			g.Expect(home.podPhase(local)()).To(Equal(corev1.PodRunning))
		}).Should(Succeed(), "nothing should be written on either side")

		t.pause(false)
		eu.remotePod(t.cb, waiting)
		Eventually(now(eu, staying)).Should(HaveField("DeletionTimestamp", Not(BeNil())), "what was deleted meanwhile is deleted there")
		Eventually(now(eu, orphan)).Should(HaveField("DeletionTimestamp", Not(BeNil())), "what is gone already is deleted there, too")
		Eventually(home.podPhase(local)).Should(Equal(corev1.PodSucceeded), "what has ended meanwhile ends here")
	})

	It("is asked for once more if the API server was broken off while it removed the pod", slow, func() {
		local, remote := t.running()
		held := newPod(t.namespace)
		held.Finalizers = []string{holdFinalizer}
		home.make(held)
		Expect(home.Delete(ctx, held, atOnce)).To(Succeed())
		DeferCleanup(func() { home.letGo(held) })
		// It removes a pod in two steps, and calls the policies in each. This policy denies the second step,
		// in which the grace period is 0.
		policy := home.deny(t.namespace, admissionv1.Delete, "!has(oldObject.metadata.deletionGracePeriodSeconds) || oldObject.metadata.deletionGracePeriodSeconds > 0",
			func() error { return home.Delete(ctx, held, atOnce, client.DryRunAll) })

		Expect(home.Delete(ctx, local, grace(600))).To(Succeed())
		Eventually(now(eu, remote)).Should(HaveField("DeletionTimestamp", Not(BeNil())), "the remote pod is told to go")
		Expect(eu.Delete(ctx, remote, atOnce)).To(Succeed())
		Eventually(now(home, local)).Should(HaveField("DeletionGracePeriodSeconds", HaveValue(BeZero())), "the first step should be done")
		home.drop(policy)
		Eventually(home.fetching(local)).Should(absent, "nobody else would ask for it")
	})
})

// keep delays the removal of a deleted pod, until letGo or the end of the spec. Otherwise the API server
// removes a pod without a grace period at once.
func (c *controlPlane) keep(pod *corev1.Pod) {
	GinkgoHelper()
	change(c, pod, func(pod *corev1.Pod) { controllerutil.AddFinalizer(pod, holdFinalizer) })
	DeferCleanup(func() { c.letGo(pod) })
}

// letGo ends a deleted pod, as a kubelet does, if it still exists.
func (c *controlPlane) letGo(pod *corev1.Pod) {
	GinkgoHelper()
	current, err := now(c, pod)()
	if apierrors.IsNotFound(err) || err == nil && current.UID != pod.UID {
		return
	}
	Expect(err).NotTo(HaveOccurred())
	// In this order: when it is gone, another pod may have its name at once.
	Expect(c.Delete(ctx, current, atOnce)).To(Succeed())
	change(c, current, func(pod *corev1.Pod) { controllerutil.RemoveFinalizer(pod, holdFinalizer) })
}

func grace(seconds int64) *client.DeleteOptions {
	return &client.DeleteOptions{GracePeriodSeconds: ptr.To(seconds)}
}

// pause pauses or resumes the binding.
func (t team) pause(paused bool) {
	GinkgoHelper()
	change(home, newBinding(t.cb.Name), func(cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = paused })
}
