package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("What a team sends", Ordered, slow, func() {
	const (
		allowed  = 25 // Of 100 objects, the smallest budget.
		underWay = 4  // How many are sent at the same time.
		asked    = allowed + 3*underWay
	)
	var greedy, modest team

	BeforeAll(func() {
		greedy = newTeamWith(eu.providerKubeconfig(), func(cb *v1alpha1.ClusterBinding) { cb.Spec.Budget.Objects = ptr.To[int32](100) })
		modest = greedy
		modest.namespace = home.newNamespace()
		modest.remote = remoteName(modest.namespace)
		home.offload(modest.namespace, selecting(labelSpec, modest.spec))
		home.offloadingIsReady(modest.namespace)
		home.takesPods(modest.namespace)
		eu.takesPods(modest.remote)
		modest.sweepAfterwards(modest.namespace)
	})

	It("is bounded for each namespace: its pods say so, others go on, and what it deletes makes room", func() {
		var needs []podOption
		for range asked {
			large := newConfigMap(greedy.namespace, unique("large"), "1")
			home.make(large)
			needs = append(needs, withConfigMap(large.GetName(), false))
		}
		filling := greedy.run(needs...)
		greedy.staysHome(filling, v1alpha1.ReasonOverBudget, "namespace "+greedy.namespace+" has ", "the limit for a namespace is 25", "ClusterBinding "+greedy.cb.Name)
		var copied corev1.ConfigMapList
		Expect(eu.List(ctx, &copied, client.InNamespace(greedy.remote), client.HasLabels{v1alpha1.LabelBinding})).To(Succeed())
		Expect(len(copied.Items)).To(BeNumerically("<", allowed+underWay), "what is beyond it is not sent")

		settings := newConfigMap(modest.namespace, unique("settings"), "1")
		home.make(settings)
		eu.remotePod(modest.cb, modest.run(withConfigMap(settings.GetName(), false)))
		Expect(home.condition(greedy.cb, v1alpha1.BindingConnected)()).To(isTrue(v1alpha1.ReasonConnected), "the provider is there for all")

		next := greedy.run()
		greedy.staysHome(next, v1alpha1.ReasonOverBudget, "the limit for a namespace is 25")
		home.drop(filling)
		greedy.goesOn(next)
	})
})
