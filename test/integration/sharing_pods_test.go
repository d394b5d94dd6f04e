package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
)

// The remote pods of these specs have no node, so a deletion removes them at once.
var _ = Describe("Pods in a provider that is shared", slow, func() {
	It("by two consumers, are apart, whatever becomes of those of the other", func() {
		spec := unique("spec")
		ours := home.bind(eu, spec)
		theirs := newBinding(ours.Name, withLabels(labelSpec, spec)) // With the same clusterID, too.
		other.putKubeconfig(theirs.Name, eu.secondConsumer())
		other.create(theirs)
		team := home.newNamespace()
		other.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: team}})
		for _, consumer := range []*controlPlane{home, other} {
			consumer.offload(team, selecting(labelSpec, spec))
			consumer.offloadingIsReady(team)
		}
		first, second := home.runWeb(ours, eu, team), other.runWeb(theirs, eu, team)
		Expect(first.remote.Namespace).NotTo(Equal(second.remote.Namespace))

		By("starting the manager of one anew")
		before := eu.versionsOf(first, second)
		running.stop()
		running = startManager(home, manager.Options{ConsumerID: homeID})
		first.showsChange(eu)
		Expect(eu.versionsOf(second)).To(Equal(before[1:]), "the other's are not written")

		first.goes(eu)
		second.isUntouched(eu, before[1])
		second.goes(eu)
	})

	It("by two bindings, are apart, whatever becomes of those of the other", func() {
		spec := unique("spec")
		bindings := []*v1alpha1.ClusterBinding{home.bind(eu, spec, withLabels(region, "first")), home.bind(eu, spec, withLabels(region, "second"))}
		home.bindingIsReady(bindings...)
		var webs []*web
		for _, cb := range bindings {
			team := home.offloadNew(selecting(labelSpec, spec, region, string(cb.Spec.VirtualNode.Labels[region])))
			home.offloadingIsReady(team)
			webs = append(webs, home.runWeb(cb, eu, team))
		}
		before := eu.versionsOf(webs...)
		webs[0].goes(eu)
		webs[1].isUntouched(eu, before[1])
		webs[1].goes(eu)
	})
})

// web is a pod of that name in a provider, with a ConfigMap that it needs.
type web struct {
	consumer      *controlPlane
	local, remote *corev1.Pod
	settings      *corev1.ConfigMap // The copy.
}

// runWeb creates both, and makes the pod run.
func (c *controlPlane) runWeb(cb *v1alpha1.ClusterBinding, provider *controlPlane, namespace string) *web {
	GinkgoHelper()
	w := &web{consumer: c, settings: &corev1.ConfigMap{}}
	c.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "settings"}, Data: map[string]string{"consumer": c.Name, "in": namespace}})
	w.local = c.runPod(cb, namespace, func(pod *corev1.Pod) {
		pod.Name = "web"
		pod.Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: "settings"}}}}
	})
	w.remote = provider.remotePod(cb, w.local)
	Expect(provider.Get(ctx, client.ObjectKey{Namespace: w.remote.Namespace, Name: "settings"}, w.settings)).To(Succeed())
	Expect(w.settings.Data).To(Equal(map[string]string{"consumer": c.Name, "in": namespace}), "it should be its own copy")
	provider.setPodStatus(w.remote, corev1.PodRunning)
	Eventually(c.podPhase(w.local)).Should(Equal(corev1.PodRunning))
	return w
}

// versionsOf returns the versions of their remote pods and copies.
func (c *controlPlane) versionsOf(webs ...*web) [][2]string {
	GinkgoHelper()
	var versions [][2]string
	for _, w := range webs {
		Expect(c.fetching(w.remote)()).To(Succeed())
		Expect(c.fetching(w.settings)()).To(Succeed())
		versions = append(versions, [2]string{w.remote.ResourceVersion, w.settings.ResourceVersion})
	}
	return versions
}

// showsChange changes the remote status, and waits until the local pod shows it. A manager that has just
// started is then at work.
func (w *web) showsChange(provider *controlPlane) {
	GinkgoHelper()
	provider.setPodStatus(w.remote, corev1.PodRunning, func(status *corev1.PodStatus) { status.ContainerStatuses[0].RestartCount++ })
	Eventually(func() (int32, error) {
		err := w.consumer.fetching(w.local)()
		if err != nil || len(w.local.Status.ContainerStatuses) == 0 {
			return 0, err
		}
		return w.local.Status.ContainerStatuses[0].RestartCount, nil
	}).Should(BeEquivalentTo(1), "the manager should be at work again")
}

// goes deletes the pod, and waits until nothing of it is left in the provider.
func (w *web) goes(provider *controlPlane) {
	GinkgoHelper()
	Expect(w.consumer.Delete(ctx, w.local)).To(Succeed())
	Eventually(w.consumer.fetching(w.local)).Should(absent, "the pod is deleted")
	Expect(provider.fetching(w.remote)()).To(absent)
	Eventually(provider.fetching(w.settings)).Should(absent, "nothing needs the copy any more")
}

// isUntouched expects that nothing of it was written, and that changes still follow. A wrong write would have
// come before that change shows.
func (w *web) isUntouched(provider *controlPlane, before [2]string) {
	GinkgoHelper()
	Expect(provider.versionsOf(w)).To(Equal([][2]string{before}))
	w.showsChange(provider)
	Expect(provider.versionsOf(w)[0][1]).To(Equal(before[1]), "the copy is left alone")
	Expect(w.remote.DeletionTimestamp).To(BeNil())
}
