package integration

import (
	"regexp"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/clusters"
)

var _ = Describe("A consumer that is restored from a backup under its manager", Ordered, slow, func() {
	It("is read anew, by a manager that begins anew", func() {
		consumer := newControlPlane(clusters.Options{Name: "restored"})
		consumer.install("config/default")
		options := manager.Options{ConsumerID: "restored", Fleet: defaults}
		run := startManager(consumer, options)
		spec := unique("spec")
		cb := newBinding(unique("restored"), withLabels(labelSpec, spec))
		consumer.putKubeconfig(cb.Name, eu.providerKubeconfig())
		consumer.make(cb)
		consumer.bindingIsReady(cb)
		Expect(consumer.Backup(ctx)).To(Succeed())

		By("going on for long enough that the backup is old")
		namespace := consumer.newNamespace()
		for range 100 {
			object := newConfigMap(namespace, unique("later"), "1")
			consumer.make(object)
		}
		consumer.isRenewed(time.Now(), cb) // Leases reveal a restore, but only of what they have seen.
		Expect(consumer.Restore(ctx)).To(Succeed())
		Eventually(run.done).Should(Receive(MatchError(ContainSubstring("was restored from a backup"))),
			"its watches go on in a future that will not come: it has to begin anew")

		run = startManager(consumer, options)
		connected := consumer.condition(cb, v1alpha1.BindingConnected)
		Eventually(connected).Should(isFalse(v1alpha1.ReasonTakeOverNeeded), "it deletes nothing that is newer than the backup before somebody wants it to")
		said, err := connected()
		Expect(err).NotTo(HaveOccurred())
		command := regexp.MustCompile(v1alpha1.AnnotationTakeOver + "=([0-9]+)").FindStringSubmatch(said.Message)
		Expect(command).To(HaveLen(2))
		change(consumer, cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Annotations = map[string]string{v1alpha1.AnnotationTakeOver: command[1]}
		})
		team := consumer.offloadNew(selecting(labelSpec, spec))
		consumer.offloadingIsReady(team)
		consumer.drop(newOffloading(team, nil))
		Eventually(consumer.fetching(newOffloading(team, nil))).Should(absent)
		consumer.drop(cb)
		Eventually(func() error { return consumer.Get(ctx, client.ObjectKeyFromObject(cb), cb) }).Should(absent)
		run.stop()
	})
})
