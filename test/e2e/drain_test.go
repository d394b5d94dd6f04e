//go:build e2e

package e2e

import (
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

var _ = Describe("A provider's node that is drained", Ordered, Label("pods"), func() {
	var copper *team

	BeforeAll(func() {
		copper = newTeam("copper", eu)
		consumer.mustKubectl("patch", "namespaceoffloading", v1alpha1.OffloadingName, "-n", copper.namespace, "--type=merge",
			"-p", `{"spec":{"resources":["Services","PodDisruptionBudgets"]}}`)
	})

	It("leaves what the team's disruption budget wants, and is empty at the end", func() {
		const replicas, wanted = 4, 2
		consumer.create(newDeployment(copper.namespace, "web", replicas))
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: copper.namespace, Name: "web"}, Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, MinAvailable: ptr.To(intstr.FromString("50%")),
		}}
		consumer.create(budget)
		copper.rolledOut("web")
		Eventually(read(eu, copper.remoteOf(budget), &policyv1.PodDisruptionBudget{})).Should(And(
			HaveField("Spec.MinAvailable", HaveValue(Equal(intstr.FromInt32(wanted)))), HaveField("Status.DisruptionsAllowed", int32(replicas-wanted))))

		fewest := copper.fewestReady(replicas)
		nodes, err := eu.nodesOf(copper.remote)
		Expect(err).NotTo(HaveOccurred())
		node := nodes[0]
		DeferCleanup(func() { eu.mustKubectl("uncordon", node) })
		eu.mustKubectl("drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--pod-selector=app=web", "--timeout=60s")
		copper.rolledOut("web")
		Expect(eu.nodesOf(copper.remote)).To(And(HaveLen(replicas), Not(ContainElement(node))))
		Expect(fewest()).To(And(BeNumerically(">=", wanted), BeNumerically("<", replicas)), "pods that are Ready at any time")
	})
})

// fewestReady watches the pods in the provider. now is how many of them are Ready. It returns a function for
// the lowest number of Ready pods since then.
func (t *team) fewestReady(now int) func() int32 {
	GinkgoHelper()
	stream, err := t.provider.api.CoreV1().Pods(t.remote).Watch(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stream.Stop)
	var fewest atomic.Int32
	fewest.Store(int32(now)) //nolint:gosec // Few.
	go func() {
		ready, all := map[string]bool{}, false
		for event := range stream.ResultChan() {
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				continue
			}
			delete(ready, pod.Name)
			if event.Type != watch.Deleted && pod.DeletionTimestamp.IsZero() && field.IsReady(pod) {
				ready[pod.Name] = true
			}
			if all = all || len(ready) == now; all { // The first events are the existing pods.
				fewest.Store(min(fewest.Load(), int32(len(ready)))) //nolint:gosec // Few.
			}
		}
	}()
	return fewest.Load
}
