package integration

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

var _ = Describe("A provider that hangs", slow, func() {
	It("holds up no pod but those that wait for it", func() {
		const each = 100 // Many more than the workers for a provider.
		spec := unique("spec")
		toEU, toUS := home.bind(eu, spec), home.bind(us, spec)
		home.bindingIsReady(toEU, toUS)
		team := home.offloadNew(selecting(labelSpec, spec))
		home.offloadingIsReady(team)
		restart(defaults) // Its probes must find out that nobody answers.
		DeferCleanup(restart, fleet.Options{})
		home.isRenewed(time.Now(), toEU, toUS)

		Expect(eu.PauseAPIServer(ctx)).To(Succeed())
		resume := func() { Expect(eu.ResumeAPIServer(ctx)).To(Succeed()) }
		DeferCleanup(resume)
		waiting, working := home.runPods(toEU, team, each), home.runPods(toUS, team, each)

		By("creating all of the other provider's, and bringing their status home")
		Eventually(us.allStandIns(toUS)).Should(HaveLen(each))
		remotes, err := us.allStandIns(toUS)()
		Expect(err).NotTo(HaveOccurred())
		for _, pod := range working {
			Expect(remotes[string(pod.UID)]).To(HaveLen(1), "exactly one remote pod should stand for %s", pod.Name)
			us.setPodStatus(&remotes[string(pod.UID)][0], corev1.PodRunning)
		}
		Eventually(home.phases(team)).Should(Equal(map[corev1.PodPhase]int{corev1.PodPending: each, corev1.PodRunning: each}))

		By("taking half of them back")
		for _, pod := range working[:each/2] {
			Expect(home.Delete(ctx, pod)).To(Succeed())
		}
		Eventually(us.allStandIns(toUS)).Should(HaveLen(each / 2))
		Eventually(home.phases(team)).Should(Equal(map[corev1.PodPhase]int{corev1.PodPending: each, corev1.PodRunning: each / 2}))

		By("blaming no webhook of the provider") // It answers nothing at all.
		for _, pod := range waiting {
			Expect(home.fetching(pod)()).To(Succeed())
			Expect(pod.Status.Conditions).NotTo(ContainElement(HaveField("Reason", v1alpha1.ReasonServerError)))
		}

		By("answering again")
		resume() // All of the above happened while it hung.
		home.bindingIsReady(toEU)
		Eventually(eu.allStandIns(toEU)).Should(HaveLen(each))
		remotes, err = eu.allStandIns(toEU)()
		Expect(err).NotTo(HaveOccurred())
		for _, pod := range waiting {
			Expect(remotes[string(pod.UID)]).To(HaveLen(1), "exactly one remote pod should stand for %s", pod.Name)
		}

		for _, pod := range append(waiting, working[each/2:]...) {
			Expect(home.Delete(ctx, pod)).To(Succeed())
		}
		Eventually(home.phases(team)).Should(BeEmpty())
		Expect(eu.allStandIns(toEU)()).To(BeEmpty())
		Expect(us.allStandIns(toUS)()).To(BeEmpty())
	})
})

// runPods creates pods that are bound to the virtual node of a binding.
func (c *controlPlane) runPods(cb *v1alpha1.ClusterBinding, namespace string, n int) []*corev1.Pod {
	GinkgoHelper()
	var pods []*corev1.Pod
	for i := range n {
		pods = append(pods, c.runPod(cb, namespace, func(pod *corev1.Pod) { pod.Name = fmt.Sprintf("%s-%03d", cb.Name, i) }))
	}
	return pods
}

// allStandIns returns the remote pods of a binding, by the UID of their local pod.
func (c *controlPlane) allStandIns(cb *v1alpha1.ClusterBinding) func() (map[string][]corev1.Pod, error) {
	return func() (map[string][]corev1.Pod, error) {
		var list corev1.PodList
		err := c.List(ctx, &list, client.MatchingLabels{v1alpha1.LabelBinding: cb.Spec.ClusterID})
		found := map[string][]corev1.Pod{}
		for i := range list.Items {
			uid := string(provenance.LocalOf(&list.Items[i]).UID)
			found[uid] = append(found[uid], list.Items[i])
		}
		return found, err
	}
}

// phases counts the pods of a namespace by phase.
func (c *controlPlane) phases(namespace string) func() (map[corev1.PodPhase]int, error) {
	return func() (map[corev1.PodPhase]int, error) {
		var list corev1.PodList
		err := c.List(ctx, &list, client.InNamespace(namespace))
		counts := map[corev1.PodPhase]int{}
		for i := range list.Items {
			counts[list.Items[i].Status.Phase]++
		}
		return counts, err
	}
}
