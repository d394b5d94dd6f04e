package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

func withMount(namespace string) bindingOption {
	return func(cb *v1alpha1.ClusterBinding) { cb.Spec.MountNamespace = namespace }
}

var _ = Describe("The mount namespace", func() {
	// unmapped creates a namespace that is not offloaded. Its pods are deleted when the spec ends.
	unmapped := func(cb *v1alpha1.ClusterBinding) team {
		GinkgoHelper()
		t := team{cb: cb, namespace: home.newNamespace()}
		home.takesPods(t.namespace)
		t.sweepAfterwards(t.namespace)
		return t
	}

	It("is made, takes the pods of namespaces that are not mapped, is made again, and goes with its binding", func() {
		mount := unique("mount")
		cb := home.bind(eu, unique("spec"), withMount(mount))
		home.bindingIsReady(cb)
		Expect(home.condition(cb, v1alpha1.BindingMountNamespaceReady)()).To(isTrue(v1alpha1.ReasonNamespaceActive))
		made, err := eu.namespace(mount)()
		Expect(err).NotTo(HaveOccurred())
		Expect(made.Labels).To(And(
			HaveKeyWithValue(v1alpha1.LabelManagedBy, v1alpha1.ManagedBySpillway), HaveKeyWithValue(v1alpha1.LabelOrigin, home.uid),
			HaveKeyWithValue(v1alpha1.LabelBinding, cb.Spec.ClusterID), HaveKeyWithValue("pod-security.kubernetes.io/enforce", "baseline")))
		eu.takesPods(mount)
		t := unmapped(cb)
		pod, remote := t.running()
		Expect(remote.Namespace).To(Equal(mount))
		Expect(remote.Name).To(Equal(field.Hashed(pod.Namespace, pod.Name)))

		By("being deleted by somebody")
		eu.hold(mount)
		eu.drop(made)
		Eventually(home.condition(cb, v1alpha1.BindingMountNamespaceReady)).Should(isFalse(v1alpha1.ReasonNamespaceTerminating, "Spillway recreates it when it is gone"))
		Eventually(home.condition(cb, v1alpha1.BindingReady)).Should(isFalse(v1alpha1.ReasonNamespaceTerminating))
		eu.end(remote)
		eu.release(mount)
		home.bindingIsReady(cb)
		Expect(eu.namespace(mount)()).To(HaveField("UID", Not(Equal(made.UID))))

		By("its binding being deleted")
		eu.hold(mount)
		home.drop(cb)
		Eventually(home.condition(cb, v1alpha1.BindingDrained)).Should(isFalse(v1alpha1.ReasonDeletingNamespaces, "1 remote namespace", mount), "it is held")
		eu.release(mount)
		Eventually(home.fetching(cb)).Should(absent)
		Expect(eu.has(mount)()).To(BeFalse())
	})

	It("is somebody else's: it is left alone, and nothing is sent there", slow, func() {
		mount := unique("mount")
		foreign := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: mount}}
		eu.create(foreign)
		cb := home.bind(eu, unique("spec"), withMount(mount))
		Eventually(home.condition(cb, v1alpha1.BindingReady)).Should(isFalse(v1alpha1.ReasonNameConflict, "namespace "+mount+" exists", "left alone"))
		Expect(home.condition(cb, v1alpha1.BindingMountNamespaceReady)()).To(isFalse(v1alpha1.ReasonNameConflict, "not created by Spillway"))
		Eventually(home.eventsAbout(cb)).Should(ContainElement(And(HaveField("Reason", v1alpha1.ReasonNameConflict), noting(mount))))
		t := unmapped(cb)
		pod := t.run()
		t.staysHome(pod, v1alpha1.ReasonNamespaceNotReady, "mountNamespace "+mount, v1alpha1.BindingMountNamespaceReady)
		untouched, err := eu.namespace(mount)()
		Expect(err).NotTo(HaveOccurred())
		Expect(untouched.Labels).NotTo(HaveKey(v1alpha1.LabelManagedBy))

		By("making room")
		eu.drop(foreign)
		Eventually(eu.has(mount)).Should(BeFalse())
		home.bindingIsReady(cb)
		Expect(t.goesOn(pod).Namespace).To(Equal(mount))
	})

	It("is left by a binding with deletionPolicy Orphan, and adopted by the next one", func() {
		mount := unique("mount")
		cb := home.bind(eu, unique("spec"), withMount(mount))
		home.bindingIsReady(cb)
		made, err := eu.namespace(mount)()
		Expect(err).NotTo(HaveOccurred())
		change(home, cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan })
		home.drop(cb)
		Eventually(home.fetching(cb)).Should(absent)
		Expect(home.eventsAbout(cb)()).To(ContainElement(And(HaveField("Reason", "LeftBehind"), noting(mount))))
		Expect(eu.namespace(mount)()).To(And(HaveField("UID", made.UID), Not(going)))

		again := home.bind(eu, unique("spec"), withMount(mount), withClusterID(cb.Spec.ClusterID))
		home.bindingIsReady(again)
		Expect(eu.namespace(mount)()).To(HaveField("UID", made.UID))
	})
})
