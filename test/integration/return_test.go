package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

var _ = Describe("spec.return", slow, func() {
	It("brings pods back, from the last tier first, once an earlier tier has had room, unless a PodDisruptionBudget refuses", func() {
		spec := unique("spec")
		o := newOverflow(spec, "2")
		o.set.Spec.Replicas = ptr.To[int32](5)
		home.create(o.set)
		Eventually(o.placed).WithTimeout(2 * time.Minute).Should(Equal("1 here, 2 in eu, 2 in us, 0 nowhere"))
		Eventually(o.running).Should(Equal("1 here at no cost, 2 in eu at cost -100, 2 in us at cost -200"))
		change(home, &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: o.team, Name: v1alpha1.OffloadingName}}, func(nso *v1alpha1.NamespaceOffloading) {
			nso.Spec.Return = &v1alpha1.ReturnPolicy{After: &metav1.Duration{Duration: time.Minute}, PerMinute: 60}
		})
		Eventually(home.offloading(o.team)).Should(o.returns(metav1.ConditionFalse, v1alpha1.ReasonNoRoom, "no earlier tier has room"))

		By("having a local node that flaps, so that the room lasts for seconds, which moves none")
		there, reasons := o.opened(), map[string]bool{}
		begun := time.Now()
		for time.Since(begun) < 75*time.Second || !reasons[v1alpha1.ReasonRoomTooNew] { // Longer than after, and than a reason stays at least.
			Expect(time.Since(begun)).To(BeNumerically("<", 4*time.Minute), "the reasons were %v", reasons)
			for _, slots := range []string{"3", "1"} {
				o.resize(spec, slots)
				Consistently(o.opened).Should(Equal(there))
				status, err := home.offloading(o.team)()
				Expect(err).NotTo(HaveOccurred())
				said, err := find(status.Conditions, v1alpha1.OffloadingReturns)
				Expect(err).NotTo(HaveOccurred())
				reasons[said.Reason] = true
			}
		}
		Expect(reasons).NotTo(HaveKey(v1alpha1.ReasonReturning))

		By("making room here for two more pods, which return from us")
		o.resize(spec, "3")
		uids := map[string]types.UID{}
		for _, pod := range o.pods() {
			uids[pod.Name] = pod.UID
		}
		Eventually(o.returned).WithTimeout(4 * time.Minute).Should(Equal("3 here, 2 in eu, 0 in us, 0 nowhere"))
		Eventually(home.offloading(o.team)).Should(And(o.returns(metav1.ConditionTrue, v1alpha1.ReasonReturning, "at most 60 in a minute"),
			HaveField("LastReturn.FromTier", BeEquivalentTo(2)), HaveField("LastReturn.Failed", BeFalse()), HaveField("LastReturn.Failures", BeZero())))
		status, err := home.offloading(o.team)()
		Expect(err).NotTo(HaveOccurred())
		evicted := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: uids[status.LastReturn.Pod]}}
		Eventually(home.eventsAbout(evicted)).Should(ContainElement(And(HaveField("Reason", v1alpha1.ReasonReturning), HaveField("Note", ContainSubstring("evicted from tier 2")))))

		By("making room for one more, which a budget keeps where it is")
		Eventually(o.running).Should(Equal("3 here at no cost, 2 in eu at cost -100, 0 in us at cost -200"))
		budget := home.guard(o.team, spec, 5)
		o.resize(spec, "4")
		Eventually(home.offloading(o.team)).WithTimeout(4 * time.Minute).Should(o.returns(metav1.ConditionFalse, v1alpha1.ReasonEvictionsRefused, "PodDisruptionBudget "+budget.Name))
		Expect(o.placed()).To(Equal("3 here, 2 in eu, 0 in us, 0 nowhere"))

		By("deleting the budget")
		home.drop(budget)
		Eventually(o.returned).WithTimeout(4 * time.Minute).Should(Equal("4 here, 1 in eu, 0 in us, 0 nowhere"))
		Eventually(home.offloading(o.team)).Should(HaveField("LastReturn.FromTier", BeEquivalentTo(1)))

		By("starting the manager again, which writes nothing and moves none")
		Eventually(o.running).Should(Equal("4 here at no cost, 1 in eu at cost -100, 0 in us at cost -200"))
		Eventually(home.offloading(o.team)).WithTimeout(4 * time.Minute).Should(o.returns(metav1.ConditionFalse, v1alpha1.ReasonNoRoom, "no earlier tier has room"))
		nso := &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: o.team, Name: v1alpha1.OffloadingName}}
		Expect(home.fetching(nso)()).To(Succeed())
		there = o.opened()
		restart(fleet.Options{})
		home.passes(selecting(labelSpec, spec))
		Expect(now(home, nso)()).To(HaveField("ResourceVersion", nso.ResourceVersion))
		Expect(o.opened()).To(Equal(there))

		By("asking for no return any more")
		change(home, &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: o.team, Name: v1alpha1.OffloadingName}}, func(nso *v1alpha1.NamespaceOffloading) {
			nso.Spec.Return = nil
		})
		Eventually(home.offloading(o.team)).Should(And(HaveField("LastReturn", BeNil()), HaveField("Conditions", Not(ContainElement(HaveField("Type", v1alpha1.OffloadingReturns))))))
	})
})

func (*overflow) returns(status metav1.ConditionStatus, reason, message string) OmegaMatcher {
	return HaveField("Conditions", ContainElement(And(HaveField("Type", v1alpha1.OffloadingReturns), HaveField("Status", status),
		HaveField("Reason", reason), HaveField("Message", ContainSubstring(message)))))
}

// returned runs what has a node, and says where pods are. The next pod returns once the successor of the last is Ready.
func (o *overflow) returned() string {
	GinkgoHelper()
	o.running()
	return o.placed()
}

// resize gives the local node other slots.
func (o *overflow) resize(spec, slots string) {
	GinkgoHelper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: o.local}}
	Expect(home.Get(ctx, client.ObjectKeyFromObject(node), node)).To(Succeed())
	before := node.DeepCopy()
	slot := corev1.ResourceName("example.com/" + spec)
	node.Status.Capacity[slot], node.Status.Allocatable[slot] = resource.MustParse(slots), resource.MustParse(slots)
	Expect(home.Status().Patch(ctx, node, client.MergeFrom(before))).To(Succeed())
}
