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
)

var _ = Describe("A pod that its provider", slow, func() {
	It("refuses runs in the next tier, and nobody goes to the provider until it may have room", func() {
		o := newOverflow(unique("quota"), "2", givingUpAfter(time.Second))
		quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: remoteName(o.team), Name: "full"},
			Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}}}
		eu.create(quota)
		Eventually(now(eu, quota)).Should(HaveField("Status.Hard", Not(BeEmpty())), "the quota should be in force")
		o.set.Spec.Replicas = ptr.To[int32](5)
		home.create(o.set)

		Eventually(o.placed).WithTimeout(2 * time.Minute).Should(Equal("1 here, 1 in eu, 2 in us, 1 nowhere"))
		Eventually(home.offloading(o.team)).Should(And(
			HaveField("Full", ConsistOf(And(HaveField("Cluster", o.eu.Spec.ClusterID), HaveField("Refusals", BeEquivalentTo(1)), HaveField("Reason", v1alpha1.ReasonRejected)))),
			HaveField("Conditions", ContainElements(
				And(HaveField("Type", v1alpha1.OffloadingFull), HaveField("Message", ContainSubstring("exceeded quota: full")))))))
		Eventually(o.told).Should(ContainElements(
			And(HaveField("Reason", v1alpha1.ReasonGivenUp), HaveField("Message", ContainSubstring("exceeded quota: full"))),
			And(HaveField("Reason", v1alpha1.ReasonProvidersFull), HaveField("Message", ContainSubstring(o.eu.Spec.ClusterID+" takes no such pod until")))))

		By("making room in eu, which the pod that waits finds after the back-off")
		eu.drop(quota)
		Eventually(o.placed).WithTimeout(2 * time.Minute).Should(Equal("1 here, 2 in eu, 2 in us, 0 nowhere"))
		Eventually(home.offloading(o.team)).Should(HaveField("Conditions", Not(ContainElement(HaveField("Type", v1alpha1.OffloadingFull)))))

		By("starting the manager again, which writes nothing")
		nso := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: o.team, Name: v1alpha1.OffloadingName}}
		before := o.opened()
		Expect(home.fetching(nso)()).To(Succeed())
		restart(fleet.Options{})
		home.passes(selecting(labelSpec, o.set.Name))
		Expect(o.opened()).To(Equal(before))
		Expect(now(home, nso)()).To(HaveField("ResourceVersion", nso.ResourceVersion))
	})

	// Others use all CPUs of the node in eu, which its virtual node does not show.
	It("cannot place blocks none that it can, and runs in the next tier", func() {
		o := newOverflow(unique("stuck"), "60", givingUpAfter(time.Hour))
		change(home, o.eu, func(cb *v1alpha1.ClusterBinding) { cb.Spec.VirtualNode.ForeignPods = v1alpha1.ForeignPodsIgnore })
		o.crowd("4", "50m")
		o.set.Spec.Replicas = ptr.To[int32](51)
		home.create(o.set)
		Eventually(o.placed).WithTimeout(2 * time.Minute).Should(Equal("1 here, 50 in eu, 0 in us, 0 nowhere"))
		Eventually(o.stuck).WithTimeout(2*time.Minute).Should(Equal(map[string]int{v1alpha1.ReasonUnschedulable: 50}), "the scheduler of eu finds no node for them")

		By("running one that needs no CPUs")
		fits := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.team, Name: "fits"}, Spec: *o.set.Spec.Template.Spec.DeepCopy()}
		fits.Spec.Containers[0].Resources.Requests = nil
		created := time.Now()
		home.create(fits)
		remote := eu.remotePod(o.eu, fits)
		Eventually(now(eu, remote)).Should(HaveField("Spec.NodeName", Not(BeEmpty())))
		eu.setPodStatus(remote, corev1.PodRunning, scheduled)
		Eventually(home.podPhase(fits)).Should(Equal(corev1.PodRunning))
		AddReportEntry("until a pod ran beside 50 that fit no node", time.Since(created).Round(100*time.Millisecond).String())
		Expect(o.stuck()).To(Equal(map[string]int{v1alpha1.ReasonUnschedulable: 50}))

		By("giving up the others")
		change(home, &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: o.team, Name: v1alpha1.OffloadingName}}, givingUpAfter(time.Second))
		Eventually(o.placed).WithTimeout(2 * time.Minute).Should(Equal("1 here, 1 in eu, 50 in us, 0 nowhere"))
		Expect(home.offloading(o.team)()).To(HaveField("Full", ConsistOf(And(
			HaveField("Cluster", o.eu.Spec.ClusterID), HaveField("Refusals", BeEquivalentTo(1)), HaveField("Reason", v1alpha1.ReasonUnschedulable)))), "one entry for all")
	})

	It("has room for in all nodes together, but in none of them, runs in the next tier", func() {
		o := newOverflow(unique("parts"), "2", givingUpAfter(time.Hour))
		eu.create(withSlots(o.set.Name, "2"))
		Eventually(home.offer(o.eu)).Should(HavePrefix("cpu 8,"))
		o.crowd("2", "3")
		Eventually(home.offer(o.eu)).Should(HavePrefix("cpu 4,"), "each of the two nodes has 2 CPUs free")
		o.set.Spec.Replicas = ptr.To[int32](2)
		home.create(o.set)
		Eventually(o.placed).WithTimeout(time.Minute).Should(Equal("1 here, 1 in eu, 0 in us, 0 nowhere"))
		Eventually(o.stuck).WithTimeout(time.Minute).Should(Equal(map[string]int{v1alpha1.ReasonTooBig: 1}))
		change(home, &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: o.team, Name: v1alpha1.OffloadingName}}, givingUpAfter(time.Second))
		Eventually(o.placed).WithTimeout(time.Minute).Should(Equal("1 here, 0 in eu, 1 in us, 0 nowhere"))
		Expect(home.offloading(o.team)()).To(HaveField("Full", ConsistOf(And(HaveField("Cluster", o.eu.Spec.ClusterID), HaveField("Reason", v1alpha1.ReasonTooBig)))))
	})

	It("cannot place fills it only until it is given up, and a smaller one runs there", func() {
		o := newOverflow(unique("large"), "100", givingUpAfter(time.Second))
		slot := corev1.ResourceName("example.com/" + o.set.Name)
		small := o.set.Spec.Template.Spec.DeepCopy()
		small.NodeSelector = map[string]string{region: "first"}
		o.set.Spec.Template.Spec.Containers[0].Resources.Limits[slot] = resource.MustParse("2")
		o.set.Spec.Replicas = ptr.To[int32](50)
		home.create(o.set)
		Eventually(o.placed).WithTimeout(2 * time.Minute).Should(Equal("0 here, 50 in eu, 0 in us, 0 nowhere"))
		fits := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: o.team, Name: "fits"}, Spec: *small}
		home.create(fits)
		Eventually(now(home, fits)).Should(HaveField("Status.Conditions", ContainElement(HaveField("Reason", corev1.PodReasonUnschedulable))), "eu shows no room")

		By("playing a scheduler of eu that finds no node for the large ones")
		Eventually(func() string {
			o.unplaced()
			return o.placed()
		}).WithTimeout(2 * time.Minute).Should(Equal("0 here, 1 in eu, 50 in us, 0 nowhere"))
		Expect(now(home, fits)()).To(HaveField("Spec.NodeName", o.eu.VirtualNodeName()))
		remote := eu.remotePod(o.eu, fits)
		eu.schedule(remote)
		eu.setPodStatus(remote, corev1.PodRunning, scheduled)
		Eventually(home.podPhase(fits)).Should(Equal(corev1.PodRunning))
	})
})

func givingUpAfter(d time.Duration) func(*v1alpha1.NamespaceOffloading) {
	return func(nso *v1alpha1.NamespaceOffloading) {
		nso.Spec.Unschedulable = &v1alpha1.Unschedulable{After: &metav1.Duration{Duration: d}}
	}
}

// told returns the events in the namespace.
func (o *overflow) told() []corev1.Event {
	GinkgoHelper()
	var events corev1.EventList
	Expect(home.List(ctx, &events, client.InNamespace(o.team))).To(Succeed())
	return events.Items
}

// unplaced plays a scheduler of eu that finds no node for the pods of the ReplicaSet, and counts those that say so here.
func (o *overflow) unplaced() int {
	GinkgoHelper()
	for _, pod := range eu.remotePodsOf(o.eu) {
		if pod.Spec.NodeName == "" && pod.Name != "fits" && len(pod.Status.Conditions) == 0 {
			eu.setPodStatus(&pod, corev1.PodPending, func(status *corev1.PodStatus) {
				*status = corev1.PodStatus{Phase: status.Phase, QOSClass: status.QOSClass}
				status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient cpu."}}
			})
		}
	}
	return o.stuck()[v1alpha1.ReasonUnschedulable]
}

// stuck counts the pods that say here why they are stuck in their provider, by the reason.
func (o *overflow) stuck() map[string]int {
	GinkgoHelper()
	reasons := map[string]int{}
	for _, pod := range o.pods() {
		for _, c := range pod.Status.Conditions {
			if c.Type == v1alpha1.PodOffloaded && c.Status == corev1.ConditionFalse {
				reasons[c.Reason]++
			}
		}
	}
	return reasons
}

// crowd has pods of others use CPUs of each node with slots in eu, where a real scheduler places pods until the spec ends.
// Each pod of the ReplicaSet requests CPUs, too.
func (o *overflow) crowd(used, requested string) {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(eu.List(ctx, &nodes)).To(Succeed())
	for i := range nodes.Items {
		if _, has := nodes.Items[i].Status.Allocatable[corev1.ResourceName("example.com/"+o.set.Name)]; has {
			eu.occupies(&nodes.Items[i], used, nil)
			change(eu, &nodes.Items[i], func(n *corev1.Node) { n.Spec.Taints = nil }) // See placement_test.go.
		}
	}
	eu.runScheduler(corev1.DefaultSchedulerName)
	o.set.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(requested)}
}
