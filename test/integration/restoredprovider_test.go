package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/clusters"
)

var _ = Describe("A provider that is restored from a backup", Ordered, slow, func() {
	It("gets what has changed since, and loses what it has not kept, for good", func() {
		provider := newControlPlane(clusters.Options{
			Name: "restored-provider", Components: []clusters.Component{clusters.KubeControllerManager}, ControllerManagerArgs: quiet,
		})
		provider.install("config/provider")
		spec := unique("spec")
		cb := home.bindWith(provider.providerKubeconfig(), provider.Name, spec)
		team := home.offloadNew(selecting(labelSpec, spec))
		home.bindingIsReady(cb)
		home.offloadingIsReady(team)
		home.takesPods(team)
		provider.takesPods(remoteName(team))
		runs := func(options ...func(*corev1.Pod)) (local, remote *corev1.Pod) {
			GinkgoHelper()
			local = home.runPod(cb, team, options...)
			remote = provider.remotePod(cb, local)
			provider.schedule(remote)
			provider.setPodStatus(remote, corev1.PodRunning)
			Eventually(home.podPhase(local)).Should(Equal(corev1.PodRunning))
			return local, remote
		}

		settings := newConfigMap(team, "settings", "1")
		home.make(settings)
		older, remoteOlder := runs(withConfigMap("settings", false))
		ended, remoteEnded := runs()
		Expect(provider.Backup(ctx)).To(Succeed())
		home.isRenewed(time.Now(), cb)

		By("going on after the backup")
		change(home, settings, func(object client.Object) {
			if settings, ok := object.(*corev1.ConfigMap); ok {
				settings.Data["key"] = "2"
			}
		})
		copied := in(remoteName(team), settings)
		Eventually(provider.value(copied)).Should(Equal("2"))
		newer, _ := runs()
		home.drop(ended)
		Eventually(now(provider, remoteEnded)).Should(going)
		provider.end(remoteEnded)
		Eventually(home.fetching(ended)).Should(absent)

		By("being restored")
		Expect(provider.Restore(ctx)).To(Succeed())
		home.isRenewed(time.Now(), cb)
		Eventually(provider.value(copied)).Should(Equal("2"), "the copy is older, and is changed again")
		Eventually(now(provider, remoteEnded)).Should(going, "nothing stands behind it any more")
		provider.end(remoteEnded)
		Eventually(home.podPhase(newer)).Should(Equal(corev1.PodFailed))
		Expect(now(home, newer)()).To(HaveField("Status.Reason", v1alpha1.ReasonRemotePodLost))
		Consistently(provider.standIns(cb, newer)).Should(BeEmpty(), "it does not run a second time")
		Expect(home.podPhase(older)()).To(Equal(corev1.PodRunning))
		Expect(now(provider, remoteOlder)()).To(And(HaveField("UID", remoteOlder.UID), Not(going)))

		By("being left")
		for _, local := range []*corev1.Pod{older, newer} {
			home.drop(local)
		}
		Eventually(now(provider, remoteOlder)).Should(going)
		provider.end(remoteOlder)
		home.drop(newOffloading(team, nil))
		home.drop(cb)
		Eventually(home.fetching(cb)).Should(absent) // The provider ends with the spec.
	})
})
