//go:build e2e

package e2e

import (
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// team is a namespace of the consumer that is offloaded to one provider. Its pods run only there.
type team struct {
	// namespace is the local namespace, remote the remote one.
	namespace, remote string
	provider          *testCluster
}

// newTeam creates the namespace with a ConfigMap and a Secret, offloads it, and waits until that is done. The
// namespace is deleted when the specs of the container end. changes modify the offloading first.
func newTeam(name string, provider *testCluster, changes ...func(*v1alpha1.NamespaceOffloadingSpec)) *team {
	GinkgoHelper()
	t := &team{namespace: name, remote: name + "-" + consumerID, provider: provider}
	local := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	consumer.create(local)
	DeferCleanup(func() { Expect(client.IgnoreNotFound(consumer.Delete(ctx, local))).To(Succeed()) })
	DeferCleanup(func() { reportFailure(t) })
	offloading := t.offloading()
	for _, change := range changes {
		change(&offloading.Spec)
	}
	consumer.create(greetingIn(name), passwordIn(name), offloading)
	Eventually(read(consumer, t.offloading(), &v1alpha1.NamespaceOffloading{})).Should(
		haveCondition(v1alpha1.OffloadingReady, metav1.ConditionTrue), "%s is offloaded to %s", name, provider.Name())
	consumer.awaitPolicy(name)
	return t
}

func (t *team) offloading() *v1alpha1.NamespaceOffloading {
	return &v1alpha1.NamespaceOffloading{
		ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: v1alpha1.OffloadingName},
		Spec: v1alpha1.NamespaceOffloadingSpec{
			PodOffloadingStrategy: v1alpha1.PodsRemote,
			ClusterSelector: &v1alpha1.ClusterSelector{NodeSelectorTerms: []v1alpha1.ClusterSelectorTerm{{
				MatchExpressions: []v1alpha1.ClusterSelectorRequirement{{
					Key: regionLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{t.provider.Name()},
				}},
			}}},
		},
	}
}

// awaitPolicy waits until the API server has seen the NamespaceOffloading. It evaluates the admission policy
// with its own cache.
func (c *testCluster) awaitPolicy(namespace string) {
	GinkgoHelper()
	Eventually(func() (*corev1.Pod, error) {
		pod := sleeper(namespace, "dry-run")
		return pod, c.Create(ctx, pod, client.DryRunAll)
	}).Should(HaveField("Spec.Affinity.NodeAffinity", Not(BeNil())), "pods of %s are prepared by the policy", namespace)
}

func (t *team) remoteNamespace() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: t.remote}}
}

// remoteOf returns the remote object of a local one. In a mapped namespace they have the same name.
func (t *team) remoteOf(object client.Object) client.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: t.remote, Name: object.GetName()}}
}

// remotePod reads the remote pod of a local one.
func (t *team) remotePod(local client.Object) func() (*corev1.Pod, error) {
	return t.provider.pod(t.remoteOf(local))
}

// remotePods returns the names of the pods in the provider, including those that are being deleted.
func (t *team) remotePods() ([]string, error) { return t.provider.podNames(t.remote) }

// localPods returns the names of the pods in the consumer.
func (t *team) localPods() ([]string, error) { return consumer.podNames(t.namespace) }

func (c *testCluster) podNames(namespace string) ([]string, error) {
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.InNamespace(namespace))
	names := make([]string, 0, len(pods.Items))
	for i := range pods.Items {
		names = append(names, pods.Items[i].Name)
	}
	return names, err
}

// bothSidesAgree waits until the provider has exactly the consumer's pods.
func (t *team) bothSidesAgree() {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		local, err := t.localPods()
		g.Expect(err).NotTo(HaveOccurred())
		remote, err := t.remotePods()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(remote).To(ConsistOf(local), "pods in %s of the provider, and in %s of the consumer", t.remote, t.namespace)
	}).Should(Succeed())
}

// rolledOut waits until kubectl reports a Deployment as rolled out.
func (t *team) rolledOut(deployment string) {
	GinkgoHelper()
	consumer.mustKubectl("rollout", "status", "deployment/"+deployment, "-n", t.namespace, "--timeout="+patience.String())
}

// pods returns the pods of a Deployment that are not being deleted.
func (t *team) pods(deployment string) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(consumer.List(ctx, &pods, client.InNamespace(t.namespace), client.MatchingLabels{"app": deployment})).To(Succeed())
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
}
