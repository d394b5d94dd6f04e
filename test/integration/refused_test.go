package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("A consumer that refuses a write of its manager", slow, func() {
	It("shows on the binding and on what waits, who asked for what, and the policy, until it is allowed", func() {
		spec := unique("spec")
		cb := home.bind(eu, spec)
		home.bindingIsReady(cb)
		nsm := &v1alpha1.NamespaceMap{ObjectMeta: metav1.ObjectMeta{Name: cb.Name}}
		Eventually(home.fetching(nsm)).Should(Succeed())
		policy := home.denyOf(admissionv1.Rule{APIGroups: []string{v1alpha1.GroupVersion.Group}, APIVersions: []string{"*"}, Resources: []string{"namespacemaps"}},
			"", admissionv1.Update, "object.metadata.name != '"+cb.Name+"'", func() error {
				return home.Patch(ctx, nsm, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"labels":{"probe":"1"}}}`)), client.DryRunAll)
			})
		team := home.offloadNew(selecting(labelSpec, spec))
		said := []string{"to patch namespacemaps." + v1alpha1.GroupVersion.Group, "as system:serviceaccount:spillway-system:spillway-manager", policy.Name, denial}
		Eventually(home.condition(cb, v1alpha1.BindingWritesRefused)).Should(isTrue(v1alpha1.ReasonForbiddenHere, said...))
		Eventually(home.offloading(team)).Should(And(inPhase(v1alpha1.OffloadingPhaseInProgress, said...),
			remoteCondition(cb, v1alpha1.RemoteNamespaceReady, isFalse(v1alpha1.ReasonForbiddenHere, said...))))
		home.drop(policy)
		home.offloadingIsReady(team)
		Eventually(func() (*v1alpha1.ClusterBinding, error) { return home.binding(cb.Name) }).Should(
			HaveField("Status.Conditions", Not(ContainElement(HaveField("Type", v1alpha1.BindingWritesRefused)))), "nothing is refused any more")
	})
})
