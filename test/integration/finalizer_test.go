package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("The finalizer of an offloading that somebody removes", slow, func() {
	It("takes the remote namespace not along, and comes back", func() {
		t := newTeam()
		before, err := eu.namespace(t.remote)()
		Expect(err).NotTo(HaveOccurred())

		By("keeping the manager from putting it back")
		rule := admissionv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"namespaceoffloadings"}}
		policy := home.denyOf(rule, t.namespace, admissionv1.Update, "!has(object.metadata.finalizers)", func() error {
			nso := newOffloading(t.namespace, nil)
			if err := home.Get(ctx, client.ObjectKeyFromObject(nso), nso); err != nil {
				return err
			}
			before := nso.DeepCopy()
			nso.Annotations = map[string]string{"example.com/tried": "yes"}
			return home.Patch(ctx, nso, client.MergeFrom(before), client.DryRunAll)
		})
		change(home, newOffloading(t.namespace, nil), func(nso *v1alpha1.NamespaceOffloading) { nso.Finalizers = nil })

		By("having the map written that both offloadings are in")
		home.offloadingIsReady(home.offloadNew(selecting(labelSpec, t.spec)))
		Expect(eu.namespace(t.remote)()).To(And(HaveField("UID", before.UID), HaveField("DeletionTimestamp", BeNil())))
		Expect(home.offloading(t.namespace)()).To(HaveField("OffloadingPhase", v1alpha1.OffloadingPhaseReady))

		home.drop(policy)
		Eventually(now(home, newOffloading(t.namespace, nil))).Should(HaveField("Finalizers", ConsistOf(v1alpha1.FinalizerOffloading)), "it is put back")
		Expect(eu.namespace(t.remote)()).To(And(HaveField("UID", before.UID), HaveField("DeletionTimestamp", BeNil())))
	})
})
