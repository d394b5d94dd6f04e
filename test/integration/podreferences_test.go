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

// maker returns an object with a value. need makes a pod need an object.
type (
	maker = func(namespace, name, value string) client.Object
	need  = func(name string, optional bool) podOption
)

var _ = Describe("What a pod refers to", Ordered, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	DescribeTable("does not exist, and holds the pod up until it does", func(kind string, fresh maker, needs need) {
		late := fresh(t.namespace, unique("late"), "1")
		pod := t.run(needs(late.GetName(), false))
		t.staysHome(pod, v1alpha1.ReasonReferenceNotFound, kind+" "+client.ObjectKeyFromObject(late).String()+" does not exist")
		home.make(late)
		t.goesOn(pod)
		Expect(eu.value(in(t.remote, late))()).To(Equal("1"))
	},
		Entry("a ConfigMap", "ConfigMap", newConfigMap, withConfigMap),
		Entry("a Secret", slow, "Secret", newSecret, withSecret),
	)

	DescribeTable("is optional, and is sent when it appears", func(fresh maker, needs need) {
		late := fresh(t.namespace, unique("optional"), "1")
		eu.remotePod(t.cb, t.run(needs(late.GetName(), true)))
		home.make(late)
		Eventually(eu.value(in(t.remote, late))).Should(Equal("1"), "the pod that is there already may use it")
	},
		Entry("a ConfigMap", newConfigMap, withConfigMap),
		Entry("a Secret", slow, newSecret, withSecret),
	)

	DescribeTable("is kept at home", func(keep, release func(*metav1.ObjectMeta)) {
		kept := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: unique("kept")}}
		keep(&kept.ObjectMeta)
		home.make(kept)
		pod, content := t.run(withConfigMap(kept.Name, false)), t.run(withConfigMap(kept.Name, true))
		t.staysHome(pod, field.ReasonSyncNever, "ConfigMap "+t.namespace+"/"+kept.Name, "spillway.io/sync=never", "not sent to any provider")
		eu.remotePod(t.cb, content)
		Expect(eu.fetching(in(t.remote, kept))()).To(absent)

		By("being released")
		change(home, kept, func(object *corev1.ConfigMap) { release(&object.ObjectMeta) })
		t.goesOn(pod)
		Expect(eu.fetching(in(t.remote, kept))()).To(Succeed())

		By("being kept again, though pods use it")
		change(home, kept, func(object *corev1.ConfigMap) { keep(&object.ObjectMeta) })
		Eventually(eu.fetching(in(t.remote, kept))).Should(absent, "it is at home only, whatever refers to it")
		Eventually(now(home, kept)).Should(HaveField("Finalizers", BeEmpty()), "nothing holds it any more")
	},
		Entry("by a label",
			func(o *metav1.ObjectMeta) { metav1.SetMetaDataLabel(o, v1alpha1.LabelSync, v1alpha1.SyncNever) },
			func(o *metav1.ObjectMeta) { delete(o.Labels, v1alpha1.LabelSync) }),
		Entry("by an annotation", slow,
			func(o *metav1.ObjectMeta) { metav1.SetMetaDataAnnotation(o, v1alpha1.LabelSync, v1alpha1.SyncNever) },
			func(o *metav1.ObjectMeta) { delete(o.Annotations, v1alpha1.LabelSync) }),
	)

	DescribeTable("is a Secret that opens the consumer's API server", func(kind corev1.SecretType) {
		secret := &corev1.Secret{
			// Kubernetes deletes tokens of missing ServiceAccounts.
			ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: unique("token"), Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"}},
			Type:       kind,
		}
		home.make(secret)
		pod, content := t.run(withSecret(secret.Name, false)), t.run(withSecret(secret.Name, true))
		t.staysHome(pod, v1alpha1.ReasonReferenceNotFound, "Secret "+t.namespace+"/"+secret.Name+" does not exist, or is a token, which is never sent")
		eu.remotePod(t.cb, content)
		Expect(eu.fetching(in(t.remote, secret))()).To(absent)
		Expect(now(home, secret)()).To(HaveField("Finalizers", BeEmpty()))
	},
		Entry("as a ServiceAccount", corev1.SecretTypeServiceAccountToken),
		Entry("as a node that joins", slow, corev1.SecretTypeBootstrapToken),
	)
})
