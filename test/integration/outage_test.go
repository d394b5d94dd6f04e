package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/test/clusters"
)

var _ = Describe("An outage", Ordered, slow, func() {
	var (
		spec       = unique("spec")
		everywhere = selecting(labelSpec, spec)
		toEU, toUS *v1alpha1.ClusterBinding
		team       string
	)

	BeforeAll(func() {
		toEU, toUS = home.bind(eu, spec), home.bind(us, spec)
		team = home.offloadNew(everywhere)
		home.bindingIsReady(toEU, toUS)
		home.offloadingIsReady(team)
		Eventually(home.counts(toEU)).Should(Equal("1/1"))
		Eventually(home.counts(toUS)).Should(Equal("1/1"))
		// With the manager's default intervals.
		DeferCleanup(restart, fleet.Options{})
	})

	It("of the manager changes nothing", func() {
		var before map[string]string
		Eventually(func() bool {
			before = home.versions(toEU, toUS, team)
			home.isRenewed(time.Now(), toEU, toUS)
			return maps.Equal(before, home.versions(toEU, toUS, team))
		}).Should(BeTrue(), "all should be written that there is to write")
		stopped := time.Now()
		restart(defaults)
		home.isRenewed(stopped, toEU, toUS) // The providers are connected, with full caches.
		home.isRenewed(time.Now(), toEU, toUS)
		Expect(home.versions(toEU, toUS, team)).To(Equal(before), "nothing has changed, so nothing is written")
	})

	// outage asserts what users see of an outage of eu while it lasts, and offloads count namespaces to the
	// other provider meanwhile. A test of the fleet checks how soon it is noticed; here it is only reported.
	outage := func(count int) (teams []string, noticed time.Time) {
		GinkgoHelper()
		begin := time.Now()
		Eventually(home.condition(toEU, v1alpha1.BindingConnected)).Should(isFalse(v1alpha1.ReasonUnreachable), "the provider does not answer")
		noticed = time.Now()
		AddReportEntry("the outage was noticed after "+noticed.Sub(begin).String(), ReportEntryVisibilityFailureOrVerbose)
		for range count {
			teams = append(teams, home.offloadNew(everywhere))
		}
		for _, team := range teams {
			Eventually(us.has(remoteName(team))).Should(BeTrue(), "the other provider works on")
			Eventually(home.offloading(team)).Should(And(inPhase(v1alpha1.OffloadingPhaseInProgress, toEU.Spec.ClusterID, v1alpha1.ReasonUnreachable),
				remoteCondition(toUS, v1alpha1.RemoteNamespaceReady, isTrue(v1alpha1.ReasonNamespaceActive))))
		}
		Expect(us.ofBinding(toUS)()).To(HaveLen(count + 1))
		Expect(home.condition(toUS, v1alpha1.BindingReady)()).To(isTrue(v1alpha1.ReasonReady))
		Expect(home.condition(toEU, v1alpha1.BindingReady)()).To(isFalse(v1alpha1.ReasonUnreachable))
		Eventually(home.entry(toEU, team)).Should(unanswered, "the last known phase is kept")
		Expect(home.offloading(team)()).To(inPhase(v1alpha1.OffloadingPhaseReady), "what is there stays ready")
		return teams, noticed
	}

	healed := func(teams []string) {
		GinkgoHelper()
		home.bindingIsReady(toEU)
		home.offloadingIsReady(teams...)
		Eventually(home.entry(toEU, team)).Should(accepted, "the provider answers again")
		Expect(eu.ofBinding(toEU)()).To(HaveLen(len(teams) + 1))
	}

	// tellsOf matches what a team reads about providers that are away.
	tellsOf := func(texts ...string) types.GomegaMatcher {
		return WithTransform(func(status v1alpha1.NamespaceOffloadingStatus) (metav1.Condition, error) {
			return find(status.Conditions, v1alpha1.OffloadingProvidersReachable)
		}, isFalse(v1alpha1.ReasonProviderUnreachable, texts...))
	}
	tellsOfNone := HaveField("Conditions", Not(ContainElement(HaveField("Type", v1alpha1.OffloadingProvidersReachable))))

	It("of a provider whose binding is paused is told to teams, by one write, and its end by another", func() {
		writes := home.record(&v1alpha1.NamespaceOffloadingList{}, newOffloading(team, nil), func(object client.Object) string { return object.GetResourceVersion() })
		Eventually(writes.soFar).Should(Equal(1), "the watch should begin with what there is")
		change(home, toEU, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = true })
		Eventually(home.offloading(team)).Should(And(inPhase(v1alpha1.OffloadingPhaseReady), tellsOf("the platform engineer has paused provider "+toEU.Spec.ClusterID+" (spec.paused of its ClusterBinding)")))
		change(home, toEU, func(cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = false })
		Eventually(home.offloading(team)).Should(And(inPhase(v1alpha1.OffloadingPhaseReady), tellsOfNone))
		home.bindingIsReady(toEU)
		Eventually(writes.soFar).Should(Equal(3))
		Consistently(writes.soFar).Should(Equal(3), "the outage and its end are one write each")
	})

	It("of a provider's API server that is killed", func() {
		Expect(eu.KillAPIServer(ctx)).To(Succeed())
		DeferCleanup(func() { startAPIServer(eu) })
		teams, noticed := outage(10)
		Expect(home.condition(toEU, v1alpha1.BindingConnected)()).To(isFalse(v1alpha1.ReasonUnreachable, "connection refused by "+eu.Config().Host))
		Eventually(home.condition(toEU, v1alpha1.BindingVirtualNodeReady)).Should(
			isFalse(v1alpha1.ReasonNodeNotReady, toEU.VirtualNodeName()), "the node should become NotReady by itself")
		Expect(home.renewed(toEU)).To(BeTemporally("<", noticed), "the lease is not renewed while the provider does not answer")
		Eventually(home.offloading(team)).Should(tellsOf(toEU.Spec.ClusterID+" ("+v1alpha1.ReasonUnreachable+")"), "the team should be told")
		startAPIServer(eu)
		healed(teams)
		Eventually(home.offloading(team)).Should(tellsOfNone)
	})

	It("of a provider's API server that hangs", func() {
		for cb, provider := range map[*v1alpha1.ClusterBinding]*controlPlane{toEU: eu, toUS: us} {
			Eventually(provider.ofBinding(cb)).Should(HaveLen(1), "the namespaces of the last spec should have gone")
		}
		Expect(eu.PauseAPIServer(ctx)).To(Succeed())
		resume := func() { Expect(eu.ResumeAPIServer(ctx)).To(Succeed()) }
		DeferCleanup(resume)
		teams, _ := outage(2)
		resume()
		healed(teams)
	})
})

// startAPIServer starts the API server unless it runs.
func startAPIServer(c *controlPlane) {
	GinkgoHelper()
	components, err := c.Running()
	Expect(err).NotTo(HaveOccurred())
	if !slices.Contains(components, clusters.KubeAPIServer) {
		Expect(c.StartAPIServer(ctx)).To(Succeed())
	}
}

// versions returns the versions of all objects that Spillway writes for the bindings and the namespace's
// offloading.
func (c *controlPlane) versions(toEU, toUS *v1alpha1.ClusterBinding, team string) map[string]string {
	GinkgoHelper()
	versions := map[string]string{}
	note := func(object client.Object) {
		Expect(c.fetching(object)()).To(Succeed())
		versions[fmt.Sprintf("%T %s", object, object.GetName())] = object.GetResourceVersion()
	}
	for _, cb := range []*v1alpha1.ClusterBinding{toEU, toUS} {
		// A manager that takes over a provider raises the generation of its Lease, and the binding records
		// that. Everything else must stay.
		binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: cb.Name}}
		Expect(c.fetching(binding)()).To(Succeed())
		binding.ResourceVersion, binding.ManagedFields, binding.Status.Holder = "", nil, v1alpha1.HolderStatus{}
		content, err := json.Marshal(binding)
		Expect(err).NotTo(HaveOccurred())
		versions["ClusterBinding "+binding.Name] = string(content)
		note(&v1alpha1.NamespaceMap{ObjectMeta: metav1.ObjectMeta{Name: cb.Name}})
		note(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: cb.VirtualNodeName()}})
	}
	note(newOffloading(team, nil))
	return versions
}
