package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/test/requests"
)

var _ = Describe("A token that is renewed every hour", func() {
	It("is used at once, and nothing is read again or written, while a broken one, or one of another account, is a new connection", func() {
		counter := requests.NewCounter()
		counter.Keep()
		running.stop()
		running = startManager(home, manager.Options{ConsumerID: homeID, Fleet: fleet.Options{WrapTransport: counter.WrapNamed}})
		DeferCleanup(func() { restart(fleet.Options{}) })
		newToken := func() []byte { return eu.kubeconfigFor(providerNamespace, providerAccount, briefly) }
		t := newTeamWith(newToken())
		asked := func(resource string) func() int {
			return func() int {
				return len(counter.Log(requests.Resource(resource), func(key requests.Key) bool { return key.Cluster == t.cb.Name }))
			}
		}
		lists := func() (all []requests.Request) {
			for _, request := range counter.Log(func(key requests.Key) bool { return key.Cluster == t.cb.Name }) {
				if request.Fills {
					all = append(all, request)
				}
			}
			return all
		}
		t.passes()
		binding, before, reviews := must(home.binding(t.cb.Name)), lists(), asked("selfsubjectreviews")()
		Expect(before).NotTo(BeEmpty())
		Expect(home.condition(t.cb, v1alpha1.BindingCredentialsValid)()).To(isTrue(v1alpha1.ReasonAccepted, "less than a day"))

		By("renewing it")
		home.putKubeconfig(t.cb.Name, newToken())
		Eventually(asked("selfsubjectreviews")).Should(Equal(reviews+1), "the provider should be asked whose the new token is")
		t.passes()
		Expect(lists()).To(Equal(before), "nothing should be read again")
		Expect(must(home.binding(t.cb.Name)).ResourceVersion).To(Equal(binding.ResourceVersion), "the binding should not be written")

		By("breaking it")
		home.putKubeconfig(t.cb.Name, user(func(*clientcmdapi.AuthInfo) {})())
		Eventually(home.condition(t.cb, v1alpha1.BindingCredentialsValid)).Should(isFalse(v1alpha1.ReasonUnauthorized, "401"))
		home.putKubeconfig(t.cb.Name, newToken())
		home.bindingIsReady(t.cb)
		t.passes()

		By("handing out one of another account")
		reviews = asked("selfsubjectreviews")()
		home.putKubeconfig(t.cb.Name, eu.secondConsumer())
		Eventually(asked("selfsubjectreviews")).Should(BeNumerically(">=", reviews+2), "a new connection should ask again whose it is")
		home.putKubeconfig(t.cb.Name, newToken())
		home.bindingIsReady(t.cb)
		t.passes()
	})
})
