package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("A pod whose provider is away", Ordered, func() {
	It("says so if it has not been sent, by one write, and goes on when the provider is back", func() {
		t := newTeam()
		running, _ := t.running()
		t.pause(true)
		Eventually(home.condition(t.cb, v1alpha1.BindingReady)).Should(isFalse(v1alpha1.ReasonPaused))
		before, err := now(home, running)()
		Expect(err).NotTo(HaveOccurred())

		waiting := t.run()
		t.staysHome(waiting, v1alpha1.ReasonProviderAway, "the platform engineer has paused provider "+t.cb.Spec.ClusterID+" (spec.paused of its ClusterBinding)")
		told, err := now(home, waiting)()
		Expect(err).NotTo(HaveOccurred())
		Consistently(now(home, waiting)).Should(HaveField("ResourceVersion", told.ResourceVersion), "it is told once")
		Expect(now(home, running)()).To(HaveField("ResourceVersion", before.ResourceVersion), "one that runs is not written")

		t.pause(false)
		t.goesOn(waiting)
	})
})
