package integration

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// webhookFails is the API server's message about a webhook that does not answer. It comes with 500, not as a
// refusal.
const webhookFails = "failed calling webhook"

// If an API server answers 500 once, or briefly, the manager tries again and reports nothing. test/faults
// does that to each write.
var _ = Describe("A webhook of the provider that does not answer", Ordered, slow, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	It("holds up a pod, which says so, and goes on when it is gone", func() {
		probe := newPod(t.remote)
		webhook := eu.silent("pods", t.remote, func() error { return eu.Create(ctx, probe.DeepCopy(), client.DryRunAll) })
		pod := t.run()
		t.staysHome(pod, v1alpha1.ReasonServerError, "provider "+t.cb.Spec.ClusterID+" fails", t.remote+"/"+pod.Name, webhookFails)
		eu.drop(webhook)
		t.goesOn(pod)
	})

	It("holds up what a pod needs, and the pod says so", func() {
		settings := newConfigMap(t.namespace, unique("settings"), "1")
		home.make(settings)
		webhook := eu.silent("configmaps", t.remote, func() error {
			return eu.Create(ctx, newConfigMap(t.remote, unique("probe"), "1"), client.DryRunAll)
		})
		pod := t.run(withConfigMap(settings.GetName(), false))
		t.staysHome(pod, v1alpha1.ReasonServerError, "ConfigMap "+t.namespace+"/"+settings.GetName(), "provider "+t.cb.Spec.ClusterID+" fails", webhookFails)
		eu.drop(webhook)
		t.goesOn(pod)
	})

	It("holds up a change of a pod, which runs on, and says so", func() {
		local, remote := t.running()
		newer := func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "example.com/app:2" }
		webhook := eu.silent("pods", t.remote, func() error {
			current, err := now(eu, remote)()
			if err != nil {
				return err
			}
			before := current.DeepCopy()
			newer(current)
			return eu.Patch(ctx, current, client.MergeFrom(before), client.DryRunAll)
		})
		change(home, local, newer)
		Eventually(home.offloaded(local)).Should(isFalse(v1alpha1.ReasonServerError, "provider "+t.cb.Spec.ClusterID+" fails", webhookFails), "the pod should say so")
		Expect(home.podPhase(local)()).To(Equal(corev1.PodRunning))
		eu.drop(webhook)
		Eventually(now(eu, remote)).Should(HaveField("Spec.Containers", ConsistOf(HaveField("Image", "example.com/app:2"))), "it is tried again by itself")
		Eventually(home.offloaded(local)).Should(isTrue(v1alpha1.ReasonOffloaded), "nothing is held up any more")
	})

	It("holds up a change of what a running pod uses, and both say so", func() {
		settings := newConfigMap(t.namespace, unique("settings"), "1")
		home.make(settings)
		local, _ := t.running(withConfigMap(settings.GetName(), false))
		copied := newConfigMap(t.remote, settings.GetName(), "")
		webhook := eu.silent("configmaps", t.remote, func() error {
			return eu.Patch(ctx, copied, client.RawPatch(types.MergePatchType, []byte(`{"data":{"probe":"1"}}`)), client.DryRunAll)
		})
		change(home, settings, func(object client.Object) {
			if settings, ok := object.(*corev1.ConfigMap); ok {
				settings.Data["key"] = "2"
			}
		})
		told := And(HaveField("Reason", v1alpha1.ReasonServerError), noting("provider "+t.cb.Spec.ClusterID+" fails to patch", webhookFails))
		Eventually(home.eventsAbout(settings)).Should(ConsistOf(told), "its owner should be told once")
		Eventually(home.offloaded(local)).Should(isTrue(v1alpha1.ReasonOffloaded, "with an outdated dependency", settings.GetName(), webhookFails))
		Eventually(home.eventsAbout(local)).Should(ConsistOf(told), "the owner of the pod should be told once")
		Expect(home.podPhase(local)()).To(Equal(corev1.PodRunning))
		eu.drop(webhook)
		Eventually(now(eu, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: settings.GetName()}})).Should(
			HaveField("Data", HaveKeyWithValue("key", "2")), "it is tried again by itself")
		Eventually(func() (string, error) {
			condition, err := home.offloaded(local)()
			return condition.Message, err
		}).Should(BeEmpty(), "nothing is to be said any more")
		Consistently(home.eventsAbout(settings)).Should(HaveLen(1))
	})

	It("holds up the deletion of a pod, which says so", func() {
		local, remote := t.running()
		webhook := eu.silent("pods", t.remote, func() error { return eu.Delete(ctx, remote.DeepCopy(), client.DryRunAll) }, admissionv1.Delete)
		home.drop(local)
		Eventually(home.offloaded(local)).Should(isFalse(v1alpha1.ReasonServerError, "provider "+t.cb.Spec.ClusterID+" fails to delete", webhookFails), "the pod should say so")
		Eventually(home.eventsAbout(local)).Should(ContainElement(And(HaveField("Reason", v1alpha1.ReasonServerError), noting("fails to delete"))))
		Expect(now(eu, remote)()).To(Not(going))
		eu.drop(webhook)
		Eventually(now(eu, remote)).Should(going, "it is tried again by itself")
		eu.end(remote)
		Eventually(home.fetching(local)).Should(absent)
	})

	It("holds up the deletion of a copy, and the object says so", func() {
		settings := newConfigMap(t.namespace, unique("settings"), "1")
		home.make(settings)
		local, remote := t.running(withConfigMap(settings.GetName(), false))
		copied := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: settings.GetName()}}
		webhook := eu.silent("configmaps", t.remote, func() error { return eu.Delete(ctx, copied.DeepCopy(), client.DryRunAll) }, admissionv1.Delete)
		home.drop(local)
		Eventually(now(eu, remote)).Should(going)
		eu.end(remote)
		Eventually(home.fetching(local)).Should(absent)
		Eventually(home.eventsAbout(settings)).Should(ConsistOf(And(HaveField("Reason", v1alpha1.ReasonServerError),
			noting("provider "+t.cb.Spec.ClusterID+" fails to delete "+t.remote+"/"+settings.GetName(), webhookFails))), "its owner should be told once")
		Expect(eu.fetching(copied)()).To(Succeed())
		eu.drop(webhook)
		Eventually(eu.fetching(copied)).Should(absent, "it is tried again by itself")
		Eventually(now(home, settings)).Should(HaveField("ObjectMeta.Finalizers", BeEmpty()), "and the mark goes")
	})

	It("holds up a namespace, and its offloading says so", func() {
		namespace := home.newNamespace()
		probe := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: remoteName(namespace)}}
		webhook := eu.silent("namespaces", probe.Name, func() error { return eu.Create(ctx, probe.DeepCopy(), client.DryRunAll) })
		home.offload(namespace, selecting(labelSpec, t.spec))
		Eventually(home.entry(t.cb, namespace)).Should(mapped(v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonServerError, webhookFails))
		Eventually(home.offloading(namespace)).Should(inPhase(v1alpha1.OffloadingPhaseAllFailed, t.cb.Spec.ClusterID, webhookFails))
		eu.drop(webhook)
		home.offloadingIsReady(namespace)
	})

	It("holds up a mount namespace, and its binding says so", func() {
		mount := unique("mount")
		probe := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: mount}}
		webhook := eu.silent("namespaces", mount, func() error { return eu.Create(ctx, probe.DeepCopy(), client.DryRunAll) })
		cb := home.bind(eu, unique("spec"), func(cb *v1alpha1.ClusterBinding) { cb.Spec.MountNamespace = mount })
		Eventually(home.condition(cb, v1alpha1.BindingMountNamespaceReady)).Should(isFalse(v1alpha1.ReasonServerError, webhookFails), "the binding should say so")
		eu.drop(webhook)
		Eventually(home.condition(cb, v1alpha1.BindingMountNamespaceReady)).Should(isTrue(v1alpha1.ReasonNamespaceActive), "it is tried again by itself")
	})
})

// A webhook that takes connections and does not answer costs an API server the webhook's whole timeout for each
// write: 10 seconds by default, and 30 at most.
var _ = Describe("A webhook of the provider that answers too late", slow, func() {
	DescribeTable("holds up a pod", func(seconds int32, policy admissionv1.FailurePolicyType, says string) {
		late := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-time.After(time.Duration(seconds+2) * time.Second):
			}
		}))
		DeferCleanup(func() {
			late.CloseClientConnections() // Close waits for requests.
			late.Close()
		})
		t := newTeam()
		webhook := unansweredWebhook("pods", t.remote, admissionv1.Create)
		webhook.Webhooks[0].ClientConfig = admissionv1.WebhookClientConfig{
			URL: ptr.To(late.URL), CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: late.Certificate().Raw}),
		}
		webhook.Webhooks[0].TimeoutSeconds, webhook.Webhooks[0].FailurePolicy = &seconds, &policy
		eu.create(webhook)
		pod := t.run()
		if says == "" {
			eu.remotePod(t.cb, pod)
			return
		}
		t.staysHome(pod, v1alpha1.ReasonServerError, "provider "+t.cb.Spec.ClusterID+" fails to create "+t.remote+"/"+pod.Name, says)
		eu.drop(webhook)
		t.goesOn(pod)
	},
		Entry("which says so", int32(10), admissionv1.Fail, webhookFails),
		Entry("which says so, if the webhook may take longer than Spillway waits", int32(30), admissionv1.Fail, "although the provider answers other requests"),
		Entry("only for the time of the webhook, if it may fail", int32(10), admissionv1.Ignore, ""),
	)
})

// silent registers a webhook that nobody serves, for writes of a resource in a namespace (or of that
// namespace). It waits until the webhook makes try fail. verbs default to Create and Update.
func (c *controlPlane) silent(resource, namespace string, try func() error, verbs ...admissionv1.OperationType) *admissionv1.ValidatingWebhookConfiguration {
	GinkgoHelper()
	if len(verbs) == 0 {
		verbs = []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}
	}
	webhook := unansweredWebhook(resource, namespace, verbs...)
	c.create(webhook)
	Eventually(try).Should(MatchError(ContainSubstring(webhookFails)), "the webhook should be asked")
	return webhook
}

// unansweredWebhook returns a webhook that nobody serves.
func unansweredWebhook(resource, namespace string, verbs ...admissionv1.OperationType) *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: unique("silent")},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name:              "silent.example.com",
			ClientConfig:      admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/")},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: verbs,
				Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{resource}},
			}},
			FailurePolicy:           ptr.To(admissionv1.Fail),
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			TimeoutSeconds:          ptr.To[int32](1),
			AdmissionReviewVersions: []string{"v1"},
		}},
	}
}
