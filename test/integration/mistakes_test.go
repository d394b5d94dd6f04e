package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

var _ = It("spec.overflow says which tier is empty, which provider two tiers select, and which pod fits in none", func() {
	spec := unique("spec")
	first := home.bind(eu, spec, withLabels(region, "first"))
	home.bindingIsReady(first, home.bind(us, spec, withLabels(region, "second")))
	tier := func(labels ...string) v1alpha1.OverflowTier {
		return builder.Tier(selecting(append(labels, labelSpec, spec)...).NodeSelectorTerms[0].MatchExpressions)
	}
	namespace := home.newNamespace()
	nso := home.offload(namespace, nil, func(nso *v1alpha1.NamespaceOffloading) {
		nso.Spec.Overflow = []v1alpha1.OverflowTier{{Local: true}, tier(region, "nowhere"), tier(region, "first"), tier()}
	})
	says := func(kind string) func() (metav1.Condition, error) {
		return func() (metav1.Condition, error) {
			status, err := home.offloading(namespace)()
			if err != nil {
				return metav1.Condition{}, err
			}
			return find(status.Conditions, kind)
		}
	}
	Eventually(says(v1alpha1.OffloadingOverflow)).Should(isFalse(v1alpha1.ReasonTierEmpty,
		first.Spec.ClusterID+" is in tier 2, so tier 3, which selects it too, does not have it", "tier 1 has no provider, so pods skip it"))
	change(home, nso, func(nso *v1alpha1.NamespaceOffloading) {
		nso.Spec.Overflow = []v1alpha1.OverflowTier{{Local: true}, tier(region, "first"), tier()}
	})
	Eventually(says(v1alpha1.OffloadingOverflow)).Should(isFalse(v1alpha1.ReasonTiersOverlap, first.Spec.ClusterID+" is in tier 1, so tier 2, which selects it too"))

	By("finding no room anywhere for a pod, as a scheduler does")
	home.takesPods(namespace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "large"}, Spec: newPodSpec()} // It tolerates all providers.
	pod.Spec.SchedulerName = "none"
	home.create(pod)
	home.findsNoNode(pod, "0/2 nodes are available: 2 Insufficient cpu.")
	Eventually(home.eventsAbout(pod)).Should(ContainElement(And(HaveField("Reason", v1alpha1.ReasonFitsNoTier), noting("tier 0: this cluster; tier 1: "))))

	By("mending the tiers: otherwise, how many pods wait is reported every 30 seconds at most")
	change(home, nso, func(nso *v1alpha1.NamespaceOffloading) {
		nso.Spec.Overflow = []v1alpha1.OverflowTier{{Local: true}, tier()}
	})
	Eventually(says(v1alpha1.OffloadingOverflow)).Should(isTrue(v1alpha1.ReasonTiersReady))
	Eventually(says(v1alpha1.OffloadingPodsFit)).Should(isFalse(v1alpha1.ReasonFitsNoTier, "1 pod ("+nameOf(pod)+") waits, although it may use every tier"))
})

var _ = It("spec.virtualNode.elastic says that more exists than it allows, and the virtual node shows what exists", func() {
	spec := unique("spec")
	for range 2 {
		node := providerNode("4", "8Gi")
		node.Labels = map[string]string{pool: spec}
		eu.create(node)
	}
	cb := home.bind(eu, spec, groupedBy(pool), func(cb *v1alpha1.ClusterBinding) {
		cb.Spec.VirtualNode.Elastic = &v1alpha1.Elastic{Groups: []v1alpha1.ElasticGroup{{
			Labels: map[string]v1alpha1.LabelValue{pool: v1alpha1.LabelValue(spec)}, MaxNodes: 1,
			Node: map[corev1.ResourceName]resource.Quantity{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")},
		}}}
	})
	shows := func() (cpus []string, err error) {
		var nodes corev1.NodeList
		err = home.List(ctx, &nodes, client.MatchingLabels{v1alpha1.LabelCluster: cb.Spec.ClusterID, pool: spec})
		for i := range nodes.Items {
			cpus = append(cpus, nodes.Items[i].Status.Allocatable.Cpu().String())
		}
		return cpus, err
	}
	Eventually(home.condition(cb, v1alpha1.BindingElastic)).Should(isFalse(v1alpha1.ReasonMaxBelowExisting, "groups[0].maxNodes is 1, and 2 exist"))
	Eventually(shows).Should(ConsistOf("8"))
	change(home, cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.VirtualNode.Elastic.Groups[0].MaxNodes = 3 })
	Eventually(shows).Should(ConsistOf("12"))
})
