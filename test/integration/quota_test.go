package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/test/clusters"
)

// allowing sets a quota of a binding for the namespaces with a label, or for all.
func allowing(label, hard string) bindingOption {
	return func(cb *v1alpha1.ClusterBinding) {
		q := v1alpha1.NamespaceQuota{Name: "team", Hard: map[corev1.ResourceName]resource.Quantity{corev1.ResourceCPU: resource.MustParse(hard)}}
		if label != "" {
			q.NamespaceSelector.MatchLabels = map[string]v1alpha1.LabelValue{"quota": v1alpha1.LabelValue(label)}
		}
		cb.Spec.Quota = []v1alpha1.NamespaceQuota{q}
	}
}

func requesting(cpu string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
}

var _ = Describe("spec.quota of a binding", slow, func() {
	It("sends the oldest pods that fit, says why others wait, and takes nothing back", func() {
		t := newTeamWith(eu.providerKubeconfig())
		label := func(value string) {
			change(home, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.namespace}}, func(n *corev1.Namespace) { n.Labels["quota"] = value })
		}
		label("mine")
		change(home, t.cb, allowing("mine", "4"))
		used := func() string {
			cb, err := home.binding(t.cb.Name)
			Expect(err).NotTo(HaveOccurred())
			if len(cb.Status.Quota) != 1 {
				return "unknown"
			}
			of := cb.Status.Quota[0]
			cpu, hard := of.Used[corev1.ResourceCPU], of.Hard[corev1.ResourceCPU]
			text := cpu.String() + " of " + hard.String()
			if len(of.Over) > 0 {
				text += ", over"
			}
			return text
		}
		refused := func(pod *corev1.Pod) func() []corev1.PodCondition {
			return func() []corev1.PodCondition {
				Expect(home.fetching(pod)()).To(Succeed())
				return pod.Status.Conditions
			}
		}
		because := func(message string) OmegaMatcher {
			return ContainElement(And(HaveField("Type", corev1.PodConditionType(v1alpha1.PodOffloaded)), HaveField("Status", corev1.ConditionFalse),
				HaveField("Reason", v1alpha1.ReasonQuotaExceeded), HaveField("Message", message)))
		}
		Eventually(used).Should(Equal("0 of 4"))

		By("sending one, and not a second one, but a smaller one")
		first := home.runPod(t.cb, t.namespace, requesting("2500m"))
		remote := eu.remotePod(t.cb, first)
		eu.schedule(remote)
		eu.setPodStatus(remote, corev1.PodRunning)
		large := home.runPod(t.cb, t.namespace, requesting("2"))
		Eventually(refused(large)).Should(because("quota team of ClusterBinding " + t.cb.Name + ": the pod requests 2 cpu, and 2500m of 4 are used"))
		small := home.runPod(t.cb, t.namespace, requesting("1"))
		eu.remotePod(t.cb, small) // It does not run, so it does not say that it was sent.
		Eventually(used).WithTimeout(time.Minute).Should(Equal("2500m of 4"))

		By("lowering the quota, and starting the manager again")
		change(home, t.cb, allowing("mine", "2"))
		Eventually(used).WithTimeout(time.Minute).Should(Equal("2500m of 2, over"))
		Eventually(refused(large)).Should(because("quota team of ClusterBinding " + t.cb.Name + ": the pod requests 2 cpu, and 3500m of 2 are used"))
		restart(fleet.Options{})
		last := home.runPod(t.cb, t.namespace, requesting("1m"))
		Eventually(refused(last)).Should(because("quota team of ClusterBinding " + t.cb.Name + ": the pod requests 1m cpu, and 3500m of 2 are used"))
		Expect(eu.remotePodsOf(t.cb)).To(HaveLen(2), "nothing is taken back")

		By("raising it, and ending the first pod, which the oldest one that waits finds")
		change(home, t.cb, allowing("mine", "3"))
		eu.setPodStatus(remote, corev1.PodSucceeded)
		eu.remotePod(t.cb, large)
		t.passes() // Its pod requests no CPU.
		Expect(eu.standIns(t.cb, last)()).To(BeEmpty())

		By("taking the label away that the quota selects")
		label("another")
		eu.remotePod(t.cb, last)
	})

	It("is a place that is full to spec.unschedulable", func() {
		o := newOverflow(unique("team-quota"), "9", givingUpAfter(time.Second))
		change(home, o.eu, allowing("", "2"))
		o.set.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
		o.set.Spec.Replicas = ptr.To[int32](5)
		home.create(o.set)
		Eventually(o.placed).WithTimeout(2 * time.Minute).Should(Equal("1 here, 2 in eu, 2 in us, 0 nowhere"))
		Expect(home.offloading(o.team)()).To(HaveField("Full", ConsistOf(And(HaveField("Cluster", o.eu.Spec.ClusterID), HaveField("Reason", v1alpha1.ReasonQuotaExceeded)))))
		remotes := eu.remotePodsOf(o.eu)
		Expect(remotes).To(HaveLen(2), "no pod too many was sent, not even for a moment: they have %s", names(remotes))
	})
})

var _ = Describe("spec.quota with two managers", slow, func() {
	It("is kept when one takes over from the other, and after a restart", func() {
		consumer := newControlPlane(clusters.Options{Name: "quotas", Components: []clusters.Component{clusters.KubeControllerManager}})
		consumer.install("config/shard")
		replicas := map[string]*sharingReplica{"a": startReplica(consumer, "a"), "b": startReplica(consumer, "b")}
		spec := unique("spec")
		cb := consumer.bindWith(eu.providerKubeconfig(), "quotas", spec, allowing("", "3"))
		consumer.bindingIsReady(cb)
		namespace := consumer.offloadNew(selecting(labelSpec, spec))
		consumer.offloadingIsReady(namespace)
		consumer.takesPods(namespace)
		eu.takesPods(namespace + "-sharing")
		run := func(n int) {
			for range n {
				consumer.runPod(cb, namespace, requesting("1"))
			}
		}
		// Nothing is deleted in the provider, so no pod too many was ever sent if none is there.
		sent := func() []corev1.Pod { return eu.remotePodsOf(cb) }
		refused := func(g Gomega) (n int) {
			var pods corev1.PodList
			g.Expect(consumer.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
			for i := range pods.Items {
				if c, err := find(asConditions(pods.Items[i].Status.Conditions), v1alpha1.PodOffloaded); err == nil && c.Reason == v1alpha1.ReasonQuotaExceeded {
					n++
				}
			}
			return n
		}
		run(5)
		Eventually(refused).Should(Equal(2))
		Expect(sent()).To(HaveLen(3))

		By("cutting the manager of the provider off, while more pods come")
		held, err := consumer.binding(cb.Name)
		Expect(err).NotTo(HaveOccurred())
		first := replicas[held.Status.Holder.Identity]
		delete(replicas, first.name)
		first.cut.Store(true)
		run(2)
		Eventually(refused).Should(Equal(4), "the other manager says so")
		Expect(sent()).To(HaveLen(3))
		first.cancel()
		Eventually(first.done).Should(Receive())

		By("starting the other one again")
		for _, second := range replicas {
			second.stop()
		}
		third := startReplica(consumer, "c")
		run(1)
		Eventually(refused).Should(Equal(5))
		Expect(sent()).To(HaveLen(3))

		By("ending one")
		ended := sent()[0]
		eu.schedule(&ended)
		eu.setPodStatus(&ended, corev1.PodSucceeded)
		Eventually(sent).Should(HaveLen(4))
		Eventually(refused).Should(Equal(4))

		By("unbinding")
		Expect(consumer.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace), client.GracePeriodSeconds(0))).To(Succeed())
		for _, pod := range sent() {
			Expect(client.IgnoreNotFound(eu.Delete(ctx, &pod, atOnce))).To(Succeed())
		}
		consumer.drop(newOffloading(namespace, nil))
		consumer.drop(cb)
		Eventually(consumer.fetching(cb)).Should(absent)
		third.stop()
	})
})

func names(pods []corev1.Pod) (all []string) {
	for i := range pods {
		all = append(all, client.ObjectKeyFromObject(&pods[i]).String())
	}
	return all
}
