package integration

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

var _ = Describe("A pod that runs follows", Ordered, func() {
	var (
		t             team
		local, remote *corev1.Pod
	)

	BeforeAll(func() {
		t = newTeam()
		// The API server resizes no pod beyond the capacity of its node.
		eu.create(providerNode("64", "64Gi"))
		Eventually(home.offer(t.cb)).ShouldNot(HavePrefix("cpu 0,"), "the virtual node should have room")
		local, remote = t.running(func(pod *corev1.Pod) {
			pod.Labels = map[string]string{"example.com/kept": "1", "example.com/removed": "1"}
			pod.Annotations = map[string]string{"example.com/kept": "1", "example.com/removed": "1"}
			pod.Spec.ActiveDeadlineSeconds = ptr.To[int64](3600)
			pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")}}
		})
	})

	AfterEach(func() {
		Expect(eu.standIns(t.cb, local)()).To(ConsistOf(HaveField("UID", remote.UID)))
		Expect(home.podPhase(local)()).To(Equal(corev1.PodRunning))
	})

	It("a toleration that is added, unless it is for virtual nodes", func() {
		added := corev1.Toleration{Key: offeredKey, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr.To[int64](60)}
		change(home, local, func(pod *corev1.Pod) {
			virtual := corev1.Toleration{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpEqual, Value: "another"}
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, virtual, added)
		})
		Eventually(now(eu, remote)).Should(HaveField("Spec.Tolerations", ContainElement(added)), "the toleration goes down")
		Expect(now(eu, remote)()).To(HaveField("Spec.Tolerations", Not(ContainElement(HaveField("Key", v1alpha1.TaintVirtualNode)))))
	})

	It("a shorter deadline", func() {
		change(home, local, func(pod *corev1.Pod) { pod.Spec.ActiveDeadlineSeconds = ptr.To[int64](1800) })
		Eventually(now(eu, remote)).Should(HaveField("Spec.ActiveDeadlineSeconds", HaveValue(BeEquivalentTo(1800))), "the deadline goes down")
	})

	It("its labels and annotations, also when some are removed", func() {
		edit := func(all map[string]string) {
			all["example.com/kept"], all[offeredKey] = "2", "1"
			delete(all, "example.com/removed")
		}
		change(home, local, func(pod *corev1.Pod) {
			edit(pod.Labels)
			edit(pod.Annotations)
		})
		followed := And(HaveKeyWithValue("example.com/kept", "2"), HaveKeyWithValue(offeredKey, "1"), Not(HaveKey("example.com/removed")))
		Eventually(now(eu, remote)).Should(And(HaveField("Labels", followed), HaveField("Annotations", followed)), "what is copied follows")
		Expect(now(eu, remote)()).To(HaveField("Labels", HaveKeyWithValue(v1alpha1.LabelBinding, t.cb.Spec.ClusterID)))
	})

	It("a container that is added for debugging, unless it asks for too much", func() {
		debugger := func(name string, privileged bool) corev1.EphemeralContainer {
			return corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{
				Name: name, Image: "example.com/debug:1", SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(privileged)}}}
		}
		changeSubresource(home, local, "ephemeralcontainers", func(pod *corev1.Pod) {
			pod.Spec.EphemeralContainers = []corev1.EphemeralContainer{debugger("mighty", true), debugger("modest", false)}
		})
		Eventually(now(eu, remote)).Should(HaveField("Spec.EphemeralContainers", ConsistOf(HaveField("Name", "modest"))), "the container goes down")
		Eventually(home.offloaded(local)).Should(isTrue(v1alpha1.ReasonOffloaded, "mighty", "privileged"), "the pod should say what is not sent")
		Eventually(home.eventsAbout(local)).Should(ContainElement(And(HaveField("Reason", field.ReasonPodSecurity), noting("mighty"))), "its owner should be told")
	})

	It("its resources, in place", func() {
		changeSubresource(home, local, "resize", func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("200m")
		})
		Eventually(now(eu, remote)).Should(WithTransform(func(pod *corev1.Pod) string {
			return pod.Spec.Containers[0].Resources.Requests.Cpu().String()
		}, Equal("200m")), "the resize goes down")
	})

	It("nothing that the provider refuses, and says so while it does", slow, func() {
		refused := func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "example.com/app:3" }
		policy := eu.deny(t.remote, admissionv1.Update, "object.spec.containers[0].image != 'example.com/app:3'", func() error {
			current, err := now(eu, remote)()
			if err != nil {
				return err
			}
			before := current.DeepCopy()
			refused(current)
			return eu.Patch(ctx, current, client.MergeFrom(before), client.DryRunAll)
		})
		change(home, local, refused)
		Eventually(home.offloaded(local)).Should(isFalse(v1alpha1.ReasonUpdateRejected, "provider "+t.cb.Spec.ClusterID, denial), "the pod should say what is refused")
		Eventually(home.eventsAbout(local)).Should(ContainElement(And(HaveField("Reason", v1alpha1.ReasonUpdateRejected), noting(denial))), "its owner should be told")
		eu.setPodStatus(remote, corev1.PodRunning, func(status *corev1.PodStatus) { status.Message = "running on" })
		Eventually(now(home, local)).Should(HaveField("Status.Message", "running on"), "it runs on as it was")

		eu.drop(policy)
		Eventually(now(eu, remote)).Should(HaveField("Spec.Containers", ConsistOf(HaveField("Image", "example.com/app:3"))), "it is tried again by itself")
		Eventually(home.offloaded(local)).Should(isTrue(v1alpha1.ReasonOffloaded), "nothing is refused any more")
	})

	It("nothing that the provider takes back, and says so while it does", slow, func() {
		fixed := func(value string) types.GomegaMatcher {
			return HaveField("Labels", HaveKeyWithValue("example.com/kept", value))
		}
		policy := eu.fixLabel(t.remote, "example.com/kept", "2", func() (*corev1.Pod, error) {
			current, err := now(eu, remote)()
			if err != nil {
				return nil, err
			}
			before := current.DeepCopy()
			current.Labels["example.com/kept"] = "tried"
			return current, eu.Patch(ctx, current, client.MergeFrom(before), client.DryRunAll)
		})
		change(home, local, func(pod *corev1.Pod) { pod.Labels["example.com/kept"] = "3" })
		Eventually(home.offloaded(local)).Should(isFalse(v1alpha1.ReasonUpdateRejected, "provider "+t.cb.Spec.ClusterID, "reverts it"), "the pod should say what is not done")
		Expect(now(eu, remote)()).To(fixed("2"))

		eu.drop(policy)
		Eventually(now(eu, remote)).Should(fixed("3"), "it is tried again by itself")
		Eventually(home.offloaded(local)).Should(isTrue(v1alpha1.ReasonOffloaded), "nothing is taken back any more")
	})
})

// fixLabel creates a policy that sets a label to one value at each update of a namespace's pods. It waits
// until the result of try has it.
func (c *controlPlane) fixLabel(namespace, label, value string, try func() (*corev1.Pod, error)) *admissionv1.MutatingAdmissionPolicyBinding {
	GinkgoHelper()
	policy := &admissionv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: unique("fixed")},
		Spec: admissionv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				}}},
			},
			ReinvocationPolicy: admissionv1.NeverReinvocationPolicy,
			Mutations: []admissionv1.Mutation{{PatchType: admissionv1.PatchTypeApplyConfiguration, ApplyConfiguration: &admissionv1.ApplyConfiguration{
				Expression: fmt.Sprintf("Object{metadata: Object.metadata{labels: {%q: %q}}}", label, value)}}},
		},
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name}, Spec: admissionv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policy.Name}}
	c.create(policy)
	c.create(binding)
	Eventually(try).Should(HaveField("Labels", HaveKeyWithValue(label, value)), "the policy should be in force")
	return binding
}
