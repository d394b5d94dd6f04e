package integration

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

const (
	// firstRetry is how long a rejected pod waits at least.
	firstRetry = 5 * time.Second
	// denial is the message of the specs' policies.
	denial = "not on Fridays"
)

var _ = Describe("A pod that the provider", Ordered, func() {
	var t team

	BeforeAll(func() { t = newTeam() })

	It("rejects, says why, and is tried again now and then, and when it has changed", slow, func() {
		denied := newPod(t.remote)
		denied.Name = unique("denied")
		try := func() error { return eu.Create(ctx, denied.DeepCopy(), client.DryRunAll) }
		policy := eu.deny(t.remote, admissionv1.Create, fmt.Sprintf("object.metadata.name != '%s'", denied.Name), try)
		before := eu.denials(policy.Name)
		begin := time.Now()

		pod := t.run(podNamed(denied.Name))
		t.staysHome(pod, v1alpha1.ReasonRejected, "provider "+t.cb.Spec.ClusterID, t.remote+"/"+pod.Name, denial)
		tries := func() int { return eu.denials(policy.Name) - before }
		Eventually(tries).Should(BeNumerically(">", 1), "it should be tried again by itself")
		// Tries are 5, 10 and 20 seconds apart, so the elapsed time bounds their number.
		count := tries()
		Expect(count).To(BeNumerically("<=", 1+int(time.Since(begin)/firstRetry)))

		// The change triggers the next try at once, instead of in 10 seconds.
		eu.drop(policy)
		Eventually(try).Should(Succeed(), "the policy should not be in force any more")
		change(home, pod, func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "example.com/app:2" })
		Eventually(now(eu, t.goesOn(pod))).Should(HaveField("Spec.Containers", ConsistOf(HaveField("Image", "example.com/app:2"))), "it is sent as it is now")
	})

	It("has no room for goes on when there is some", slow, func() {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: "full"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/configmaps": resource.MustParse("0"), corev1.ResourcePods: resource.MustParse("0")}},
		}
		eu.create(quota)
		Eventually(now(eu, quota)).Should(HaveField("Status.Hard", Not(BeEmpty())), "the quota should be in force")
		pod := t.run()
		t.staysHome(pod, v1alpha1.ReasonRejected, "provider "+t.cb.Spec.ClusterID, "exceeded quota: full")
		settings := newConfigMap(t.namespace, unique("settings"), "1")
		home.make(settings)
		needing := t.run(withConfigMap(settings.GetName(), false))
		t.staysHome(needing, v1alpha1.ReasonRejected, "ConfigMap "+t.namespace+"/"+settings.GetName(), "exceeded quota: full")
		eu.drop(quota)
		t.goesOn(pod)
		t.goesOn(needing)
	})
})

// deny creates a policy that denies an operation on a namespace's pods if the expression is false. It waits
// until the policy denies try.
func (c *controlPlane) deny(namespace string, operation admissionv1.OperationType, expression string, try func() error) *admissionv1.ValidatingAdmissionPolicyBinding {
	GinkgoHelper()
	return c.denyOf(admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}}, namespace, operation, expression, try)
}

// denyOf is deny for another kind; for a cluster-scoped one, namespace is "".
func (c *controlPlane) denyOf(rule admissionv1.Rule, namespace string, operation admissionv1.OperationType, expression string, try func() error) *admissionv1.ValidatingAdmissionPolicyBinding {
	GinkgoHelper()
	selector := &metav1.LabelSelector{}
	if namespace != "" {
		selector.MatchLabels = map[string]string{corev1.LabelMetadataName: namespace}
	}
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: unique("denial")},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: selector,
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{operation}, Rule: rule,
				}}},
			},
			Validations: []admissionv1.Validation{{Expression: expression, Message: denial}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	c.create(policy)
	c.create(binding)
	Eventually(try).Should(MatchError(ContainSubstring(denial)), "the policy should be in force")
	return binding
}

// denials returns how often a policy has denied a request, from the API server's metrics.
func (c *controlPlane) denials(policy string) int {
	GinkgoHelper()
	clientset, err := kubernetes.NewForConfig(c.Config())
	Expect(err).NotTo(HaveOccurred())
	metrics, err := clientset.RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	count := 0
	for line := range strings.Lines(string(metrics)) {
		if strings.HasPrefix(line, "apiserver_validating_admission_policy_check_total{") &&
			strings.Contains(line, `policy="`+policy+`"`) && strings.Contains(line, `enforcement_action="deny"`) {
			n, err := strconv.Atoi(strings.Fields(line)[1])
			Expect(err).NotTo(HaveOccurred(), line)
			count += n
		}
	}
	return count
}
