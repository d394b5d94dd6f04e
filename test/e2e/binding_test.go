//go:build e2e

package e2e

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// tokenLifetime is longer than any run.
const tokenLifetime = 4 * time.Hour

// regionLabel is the label that offloadings select by. Its value is the provider's name.
const regionLabel = "topology.kubernetes.io/region"

// bind does the work of the provider's administrator and the platform engineer. It puts the kubeconfig of the
// provider's ServiceAccount into a Secret of the consumer, and creates a ClusterBinding that refers to it. changes
// modify the binding first.
func bind(provider *testCluster, changes ...func(*v1alpha1.ClusterBinding)) {
	GinkgoHelper()
	kubeconfig, err := provider.KubeconfigFor(ctx, providerNamespace, providerServiceAccount, tokenLifetime)
	Expect(err).NotTo(HaveOccurred())
	binding := &v1alpha1.ClusterBinding{
		ObjectMeta: metav1.ObjectMeta{Name: provider.Name()},
		Spec: v1alpha1.ClusterBindingSpec{
			ClusterID:           provider.Name(),
			KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: kubeconfigSecret(provider).Name},
			VirtualNode: v1alpha1.VirtualNodeTemplate{
				Labels: map[string]v1alpha1.LabelValue{regionLabel: v1alpha1.LabelValue(provider.Name())},
			},
		},
	}
	for _, change := range changes {
		change(binding)
	}
	secret := kubeconfigSecret(provider)
	secret.Data = map[string][]byte{v1alpha1.DefaultKubeconfigKey: kubeconfig}
	consumer.create(secret, binding)
}

// bindAll binds all providers, and waits until each is usable.
func bindAll() {
	GinkgoHelper()
	for _, provider := range providers() {
		bind(provider)
	}
	for _, provider := range providers() {
		bound(provider)
	}
}

// bound waits until a provider is usable.
func bound(provider *testCluster) {
	GinkgoHelper()
	Eventually(read(consumer, bindingOf(provider), &v1alpha1.ClusterBinding{})).Should(
		haveCondition(v1alpha1.BindingReady, metav1.ConditionTrue), "provider %s is bound", provider.Name())
	Eventually(read(consumer, virtualNodeOf(provider), &corev1.Node{})).Should(
		haveCondition(string(corev1.NodeReady), metav1.ConditionTrue), "the virtual node of %s is ready for pods", provider.Name())
}

// ensureBound binds a provider again if it is unbound or being unbound.
func ensureBound(provider *testCluster) {
	GinkgoHelper()
	binding, err := read(consumer, bindingOf(provider), &v1alpha1.ClusterBinding{})()
	Expect(err).NotTo(HaveOccurred())
	if binding == nil || binding.DeletionTimestamp != nil {
		Eventually(read(consumer, bindingOf(provider), &v1alpha1.ClusterBinding{})).Should(beGone(), "the binding is deleted")
		Expect(client.IgnoreNotFound(consumer.Delete(ctx, kubeconfigSecret(provider)))).To(Succeed())
		bind(provider)
	}
	bound(provider)
}

// providers returns the providers that exist.
func providers() []*testCluster {
	if dc == nil {
		return []*testCluster{eu}
	}
	return []*testCluster{eu, dc}
}

// virtualNode returns the name of a provider's virtual node.
func virtualNode(provider string) string { return v1alpha1.VirtualNodePrefix + provider }

func bindingOf(provider *testCluster) *v1alpha1.ClusterBinding {
	return &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: provider.Name()}}
}

func virtualNodeOf(provider *testCluster) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: virtualNode(provider.Name())}}
}

// kubeconfigSecret returns the consumer's Secret with the provider's kubeconfig.
func kubeconfigSecret(provider *testCluster) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: provider.Name() + "-kubeconfig"}}
}
