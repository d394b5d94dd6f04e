package integration

import (
	"encoding/json"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("The status of a pod", Ordered, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	It("is bounded, whatever the provider says", func() {
		local, remote := t.running()
		huge := strings.Repeat("x\n\x1b[31m", 10_000)
		eu.setPodStatus(remote, corev1.PodRunning, func(status *corev1.PodStatus) {
			status.Reason, status.Message = huge, huge
			for i := range status.Conditions {
				status.Conditions[i].Message = huge
			}
			for range 200 {
				status.Conditions = append(status.Conditions, corev1.PodCondition{Type: corev1.PodConditionType(unique("example.com/c")), Status: "Odd", Message: "x"})
			}
			container := &status.ContainerStatuses[0]
			container.Image, container.ImageID, container.ContainerID = huge, huge, "x://"+huge
			container.RestartCount = -1
			container.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: huge, Message: huge}}
			container.LastTerminationState = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: huge, Message: huge, ContainerID: "x://1"}}
		})
		Eventually(now(home, local)).Should(HaveField("Status.Message", HavePrefix("x")), "the status should come, as far as it is one")
		found, err := now(home, local)()
		Expect(err).NotTo(HaveOccurred())
		container := &found.Status.ContainerStatuses[0]
		for _, message := range []*string{&container.State.Waiting.Message, &container.LastTerminationState.Terminated.Message} {
			Expect(*message).To(HavePrefix("x\n"), "a message of a container keeps its lines")
			*message = strings.ReplaceAll(*message, "\n", "")
		}
		text, err := json.Marshal(found.Status)
		Expect(err).NotTo(HaveOccurred())
		Expect(len(text)).To(BeNumerically("<", 20_000))
		Expect(string(text)).NotTo(Or(ContainSubstring(`\n`), ContainSubstring(`\u001b`), ContainSubstring("Odd")))
		Expect(found.Status.Phase).To(Equal(corev1.PodRunning))

		By("being mended")
		eu.setPodStatus(remote, corev1.PodRunning, func(status *corev1.PodStatus) { status.Reason, status.Message = "", "" })
		Eventually(now(home, local)).Should(HaveField("Status.Message", BeEmpty()), "nothing of it stays")
	})

	It("is Ready when the readiness gates of the consumer are open, too", func() {
		const gate corev1.PodConditionType = "example.com/gate"
		local, remote := t.running(func(pod *corev1.Pod) { pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: gate}} })
		Expect(remote.Spec.ReadinessGates).To(BeEmpty())
		Expect(home.podConditions(local)()).To(ContainElement(And(HaveField("Type", "Ready"), isFalse("ReadinessGatesNotReady", string(gate)))))
		home.open(local, gate)
		Eventually(home.podConditions(local)).Should(And(
			ContainElement(And(HaveField("Type", "Ready"), HaveField("Status", metav1.ConditionTrue))),
			ContainElement(And(HaveField("Type", string(gate)), HaveField("Status", metav1.ConditionTrue)))), "the gate is open, and stays so")
		eu.setPodStatus(remote, corev1.PodRunning, func(status *corev1.PodStatus) {
			status.PodIP, status.PodIPs = "10.9.9.9", []corev1.PodIP{{IP: "10.9.9.9"}}
		})
		Eventually(now(home, local)).Should(telling("10.9.9.9"), "the provider goes on telling")
		Expect(home.podConditions(local)()).To(ContainElement(And(HaveField("Type", string(gate)), HaveField("Status", metav1.ConditionTrue))))
	})

	It("is Failed when the remote pod is gone and nobody has asked for that", func() {
		local, remote := t.running()
		Expect(eu.Delete(ctx, remote, atOnce)).To(Succeed())
		Eventually(now(home, local)).Should(HaveField("Status", And(
			HaveField("Phase", corev1.PodFailed), HaveField("Reason", v1alpha1.ReasonRemotePodLost),
			HaveField("Message", And(ContainSubstring(t.remote+"/"+remote.Name), ContainSubstring(string(remote.UID)))))), "the pod is lost")
		Eventually(home.eventsAbout(local)).Should(ContainElement(HaveField("Reason", v1alpha1.ReasonRemotePodLost)), "its owner should be told")
		Expect(home.podConditions(local)()).To(ContainElement(And(HaveField("Type", "Ready"), HaveField("Status", metav1.ConditionFalse))))
		lost, err := now(home, local)()
		Expect(err).NotTo(HaveOccurred())
		Expect(lost.Status.ContainerStatuses).To(HaveExactElements(And(
			HaveField("Ready", false), HaveField("Started", HaveValue(BeFalse())),
			HaveField("State.Running", BeNil()), HaveField("State.Terminated.ExitCode", BeEquivalentTo(137)))), "its containers end with it")
		t.passes()
		Expect(eu.standIns(t.cb, local)()).To(BeEmpty(), "it does not run a second time")
	})

	It("ends with the remote pod, if a controller makes another one", func() {
		owner := newConfigMap(t.namespace, unique("owner"), "1")
		home.make(owner)
		controlled := func(pod *corev1.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.GetName(), UID: owner.GetUID(), Controller: ptr.To(true)}}
		}
		local, remote := t.running(controlled)
		eu.keep(remote)
		Expect(eu.Delete(ctx, remote)).To(Succeed())
		Eventually(now(home, local)).Should(HaveField("DeletionTimestamp", Not(BeNil())), "it is deleted here too")
		Expect(home.podConditions(local)()).To(ContainElement(And(HaveField("Type", "DisruptionTarget"), HaveField("Reason", v1alpha1.ReasonRemotePodDeleted))))
		Eventually(home.eventsAbout(local)).Should(ContainElement(HaveField("Reason", v1alpha1.ReasonRemotePodDeleted)), "its owner should be told")
		eu.letGo(remote)
		Eventually(home.fetching(local)).Should(absent)

		By("being lost")
		local, remote = t.running(controlled)
		Expect(eu.Delete(ctx, remote, atOnce)).To(Succeed())
		Eventually(home.fetching(local)).Should(absent, "no failed pod stays behind")
	})

	It("says that the node there may be lost when nobody ends the pod long after its grace period", slow, func() {
		local, remote := t.running()
		Expect(home.Delete(ctx, local)).To(Succeed())
		Eventually(now(eu, remote)).Should(going)
		Eventually(home.offloaded(local)).WithTimeout(2 * patience).Should(isFalse(v1alpha1.ReasonNodeLost, t.remote+"/"+remote.Name, "the pod may still run"))
		Eventually(home.eventsAbout(local)).Should(ContainElement(HaveField("Reason", v1alpha1.ReasonNodeLost)), "its owner should be told")

		By("forcing its end, as pod garbage collection of the provider does")
		Expect(eu.Delete(ctx, remote, atOnce)).To(Succeed())
		Eventually(home.fetching(local)).Should(absent)
	})

	It("is that of the new pod when one is made again under its name", func() {
		old, remote := t.running()
		eu.keep(remote)
		Expect(home.Delete(ctx, old, atOnce)).To(Succeed())
		again := t.run(podNamed(old.Name))
		Eventually(now(eu, remote)).Should(HaveField("DeletionTimestamp", Not(BeNil())), "the old one is to go")
		t.staysHome(again, v1alpha1.ReasonReplacing, t.remote+"/"+old.Name, "belongs to an older object of this name")
		eu.letGo(remote)
		Expect(t.goesOn(again).UID).NotTo(Equal(remote.UID))
		Expect(home.podPhase(again)()).To(Equal(corev1.PodPending))
	})
})

// podConditions reads the conditions of a pod.
func (c *controlPlane) podConditions(pod *corev1.Pod) func() ([]metav1.Condition, error) {
	return func() ([]metav1.Condition, error) {
		current, err := now(c, pod)()
		return asConditions(current.Status.Conditions), err
	}
}

// open opens a readiness gate, as its controller would.
func (c *controlPlane) open(pod *corev1.Pod, gate corev1.PodConditionType) {
	GinkgoHelper()
	current, err := now(c, pod)()
	Expect(err).NotTo(HaveOccurred())
	before := current.DeepCopy()
	current.Status.Conditions = append(current.Status.Conditions, corev1.PodCondition{Type: gate, Status: corev1.ConditionTrue})
	Expect(c.Status().Patch(ctx, current, client.StrategicMergeFrom(before))).To(Succeed())
}
