package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("A clusterSelector that is changed while a pod waits for a node", slow, func() {
	It("has the offloading say so, and what to do, until the pod is gone", func() {
		spec := unique("spec")
		first := home.bind(eu, spec, withLabels(region, "first"))
		second := home.bind(us, spec, withLabels(region, "second"))
		home.bindingIsReady(first)
		home.bindingIsReady(second)
		team := home.offloadNew(selecting(labelSpec, spec, region, "first"), podsGo(v1alpha1.PodsRemote))
		home.offloadingIsReady(team)
		home.takesPods(team)
		pod := home.runPod(first, team, func(pod *corev1.Pod) {
			pod.Spec.NodeName, pod.Spec.NodeSelector = "", map[string]string{"example.com/nowhere": "true"}
			pod.Spec.Affinity = affinityOf(selecting(labelSpec, spec, region, "first"))
		})
		Consistently(home.offloading(team)).Should(Not(saysOutdated), "it has the present affinity")

		nso := newOffloading(team, nil)
		change(home, nso, func(nso *v1alpha1.NamespaceOffloading) {
			nso.Spec.ClusterSelector = selecting(labelSpec, spec, region, "second")
		})
		Eventually(home.offloading(team)).Should(HaveField("Conditions", ContainElement(And(HaveField("Type", v1alpha1.OffloadingPodsCurrent),
			HaveField("Message", And(ContainSubstring("1 pod ("+nameOf(pod)+") waits with an outdated node affinity"), ContainSubstring("kubectl rollout restart")))))))
		Eventually(home.eventsAbout(nso)).Should(ContainElement(And(HaveField("Reason", v1alpha1.ReasonPodsOutdated), noting(nameOf(pod)))))
		home.end(pod)
		Eventually(home.offloading(team)).Should(Not(saysOutdated), "it is gone")
	})
})

var saysOutdated = HaveField("Conditions", ContainElement(HaveField("Message", ContainSubstring("outdated node affinity"))))

// affinityOf returns the affinity that the admission policy derives from a selector of one term, with the
// strategy Remote.
func affinityOf(selector *v1alpha1.ClusterSelector) *corev1.Affinity {
	required := selector.NodeSelector()
	virtual := corev1.NodeSelectorRequirement{Key: v1alpha1.LabelNodeType, Operator: corev1.NodeSelectorOpIn, Values: []string{v1alpha1.NodeTypeVirtual}}
	term := &required.NodeSelectorTerms[0]
	term.MatchExpressions = append([]corev1.NodeSelectorRequirement{virtual}, term.MatchExpressions...)
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
}
