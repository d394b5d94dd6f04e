package integration

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

var _ = Describe("The copy of a ConfigMap or Secret", Ordered, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	kinds := []TableEntry{Entry("ConfigMap", newConfigMap, withConfigMap), Entry("Secret", slow, newSecret, withSecret)}

	DescribeTable("goes before the original, and comes again with another one, also if it is immutable", func(fresh maker, needs need) {
		original := fresh(t.namespace, unique("immutable"), "1")
		setImmutable(original)
		home.make(original)
		eu.remotePod(t.cb, t.run(needs(original.GetName(), false)))
		remote := in(t.remote, original)
		Expect(eu.value(remote)()).To(Equal("1"))
		change(eu, remote, func(object client.Object) { controllerutil.AddFinalizer(object, holdFinalizer) })

		home.drop(original)
		Eventually(now(eu, remote)).Should(HaveField("ObjectMeta.DeletionTimestamp", Not(BeNil())), "the copy goes first")
		Expect(now(home, original)()).To(HaveField("ObjectMeta.Finalizers", ConsistOf(v1alpha1.FinalizerSync+t.cb.Spec.ClusterID)))
		change(eu, remote, func(object client.Object) { controllerutil.RemoveFinalizer(object, holdFinalizer) })
		Eventually(home.fetching(original)).Should(absent, "the original goes when the copy is gone")
		Expect(eu.fetching(remote)()).To(absent)

		again := fresh(t.namespace, original.GetName(), "2")
		setImmutable(again)
		home.make(again)
		Eventually(eu.value(remote)).Should(Equal("2"), "the pod is there still, and needs it")
	}, kinds)

	DescribeTable("goes with the last pod that needs it", func(fresh maker, needs need) {
		original := fresh(t.namespace, unique("shared"), "1")
		home.make(original)
		first, second := t.run(needs(original.GetName(), false)), t.run(needs(original.GetName(), true))
		eu.remotePod(t.cb, first)
		eu.remotePod(t.cb, second)
		remote := in(t.remote, original)
		before, err := now(eu, remote)()
		Expect(err).NotTo(HaveOccurred())

		home.drop(first)
		Eventually(home.fetching(first)).Should(absent, "its remote pod is on no node, and goes at once")
		t.passes()
		Expect(now(eu, remote)()).To(HaveField("ObjectMeta.ResourceVersion", before.GetResourceVersion()), "the second pod needs it")
		home.drop(second)
		Eventually(eu.fetching(remote)).Should(absent, "nothing needs it")
		Eventually(marksOn(original)).Should(BeEmpty(), "the original is as it was")
	}, kinds)

	It("in one provider does not disturb that in another", func() {
		toUS := home.bind(us, t.spec)
		home.bindingIsReady(toUS)
		Eventually(home.entry(toUS, t.namespace)).Should(accepted, "the namespace is offloaded to both")
		us.takesPods(t.remote)
		original := newConfigMap(t.namespace, unique("both"), "1")
		home.make(original)
		here, there := t.run(withConfigMap(original.GetName(), false)), home.runPod(toUS, t.namespace, withConfigMap(original.GetName(), false))
		eu.remotePod(t.cb, here)
		us.remotePod(toUS, there)
		Expect(marksOn(original)()).To(ConsistOf(append(allMarks(t.cb), allMarks(toUS)...)))

		home.drop(here)
		Eventually(eu.fetching(in(t.remote, original))).Should(absent, "nothing in eu needs it")
		Eventually(marksOn(original)).Should(ConsistOf(allMarks(toUS)), "what us has put there stays")
		Expect(us.value(in(t.remote, original))()).To(Equal("1"))
		change(home, original, func(object client.Object) { setValue(object, "2") })
		Eventually(us.value(in(t.remote, original))).Should(Equal("2"), "the copy in us still follows")
		home.drop(there)
		Eventually(marksOn(original)).Should(BeEmpty(), "nothing needs it any more")
	})

	It("in a provider that is away does not hold the original up", func() {
		original := newConfigMap(t.namespace, unique("away"), "1")
		home.make(original)
		eu.remotePod(t.cb, t.run(withConfigMap(original.GetName(), false)))
		remote := in(t.remote, original)
		Expect(eu.value(remote)()).To(Equal("1"))
		secret := t.cb.Spec.KubeconfigSecretRef.Name
		home.putKubeconfig(secret, edited(eu.providerKubeconfig(), func(cluster *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) {
			cluster.Server = "https://127.0.0.1:1"
		}))
		Eventually(home.condition(t.cb, v1alpha1.BindingConnected)).Should(isFalse(v1alpha1.ReasonUnreachable))

		home.drop(original)
		Eventually(home.fetching(original)).Should(absent, "it should not wait for the provider")
		home.make(newConfigMap(t.namespace, original.GetName(), "2"))
		Expect(eu.value(remote)()).To(Equal("1"), "the provider is not asked")
		home.putKubeconfig(secret, eu.providerKubeconfig())
		Eventually(eu.value(remote)).Should(Equal("2"), "the pod has the new one when the provider is back")
	})

	It("of a provider that no binding names does not hold the original up", func() {
		restored := newConfigMap(t.namespace, unique("restored"), "1")
		restored.SetFinalizers([]string{v1alpha1.FinalizerSync + "gone"})
		restored.SetLabels(map[string]string{v1alpha1.LabelSyncedTo + "gone": v1alpha1.SyncedToTrue})
		home.make(restored)
		home.drop(restored)
		Eventually(home.fetching(restored)).Should(absent)
	})
})

// marksOn returns the keys that Spillway has added to a local object.
func marksOn(object client.Object) func() ([]string, error) {
	return func() ([]string, error) {
		current, err := now(home, object)()
		if err != nil {
			return nil, err
		}
		keys := slices.Clone(current.GetFinalizers())
		for _, all := range []map[string]string{current.GetLabels(), current.GetAnnotations()} {
			for key := range all {
				keys = append(keys, key)
			}
		}
		return slices.DeleteFunc(keys, func(key string) bool { return !strings.Contains(key, v1alpha1.Domain) }), nil
	}
}

// allMarks returns the marks of one binding.
func allMarks(cb metav1.Object) []string {
	id := cb.GetName() // The clusterID of the specs' bindings.
	return []string{v1alpha1.LabelSyncedTo + id, v1alpha1.AnnotationRemote + id, v1alpha1.FinalizerSync + id}
}
