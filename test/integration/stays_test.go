package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

var _ = Describe("A pod in the mount namespace", func() {
	It("goes on there when its namespace is offloaded, with what it needs, and the next one goes to the mapped one", func() {
		mount, spec := unique("mount"), unique("spec")
		cb := home.bind(eu, spec, withMount(mount))
		home.bindingIsReady(cb)
		eu.takesPods(mount)
		t := team{cb: cb, spec: spec, namespace: home.newNamespace()}
		t.remote = remoteName(t.namespace)
		home.takesPods(t.namespace)
		t.sweepAfterwards(t.namespace)
		settings := newConfigMap(t.namespace, unique("settings"), "1")
		home.make(settings)
		pod, remote := t.running(withConfigMap(settings.GetName(), false))
		Expect(remote.Namespace).To(Equal(mount))
		inMount := newConfigMap(mount, field.Hashed(t.namespace, settings.GetName()), "")
		Expect(eu.value(inMount)()).To(Equal("1"))

		By("its namespace being offloaded")
		offloading := home.offload(t.namespace, selecting(labelSpec, spec))
		home.offloadingIsReady(t.namespace)
		eu.takesPods(t.remote)
		second, mapped := t.running(withConfigMap(settings.GetName(), false))
		Expect(mapped.Namespace).To(Equal(t.remote))
		Expect(mapped.Name).To(Equal(second.Name))
		Expect(now(eu, remote)()).To(And(HaveField("UID", remote.UID), Not(going)), "it is left where it is")
		Expect(now(home, pod)()).To(And(HaveField("UID", pod.UID), Not(going), HaveField("Status.Phase", corev1.PodRunning),
			HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationRemoteUID, string(remote.UID)))))

		By("what both need being changed")
		change(home, settings, func(object client.Object) { object.(*corev1.ConfigMap).Data["key"] = "2" })
		Eventually(eu.value(inMount)).Should(Equal("2"))
		Eventually(eu.value(in(t.remote, settings))).Should(Equal("2"))
		current, err := now(home, settings)()
		Expect(err).NotTo(HaveOccurred())
		Expect(current.GetAnnotations()).To(HaveKeyWithValue(v1alpha1.AnnotationRemote+cb.Spec.ClusterID,
			And(ContainSubstring(mount+"/"), ContainSubstring(","), ContainSubstring(t.remote+"/"))))

		By("its own labels being changed")
		change(home, pod, func(pod *corev1.Pod) { metav1.SetMetaDataLabel(&pod.ObjectMeta, "example.com/version", "2") })
		Eventually(now(eu, remote)).Should(HaveField("Labels", HaveKeyWithValue("example.com/version", "2")))

		By("being deleted")
		home.drop(pod)
		Eventually(now(eu, remote)).Should(going)
		eu.end(remote)
		Eventually(home.fetching(pod)).Should(absent)
		Eventually(eu.fetching(inMount)).Should(absent, "nothing needs it there any more")
		Expect(eu.value(in(t.remote, settings))()).To(Equal("2"))
		Expect(now(home, second)()).NotTo(going)

		By("its namespace being taken back")
		home.drop(offloading)
		Eventually(now(eu, mapped)).Should(going, "it is evicted")
		eu.end(mapped)
		Eventually(home.fetching(offloading)).Should(absent)
		Eventually(marksOn(settings)).Should(BeEmpty())
	})

	It("is none of a namespace that is never offloaded", func() {
		mount := unique("mount")
		cb := home.bind(eu, unique("spec"), withMount(mount))
		home.bindingIsReady(cb)
		t := team{cb: cb, namespace: metav1.NamespaceSystem}
		pod := t.run()
		DeferCleanup(func() { Expect(home.Delete(ctx, pod, atOnce)).To(Or(Succeed(), absent)) })
		t.staysHome(pod, v1alpha1.ReasonNamespaceNeverOffloaded, "namespace kube-system is a system namespace")
	})
})
