//go:build e2e

package e2e

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// The names that the manifests of config/ give.
const (
	systemNamespace        = "spillway-system"
	managerServiceAccount  = "spillway-manager"
	providerNamespace      = "spillway-provider"
	providerServiceAccount = "spillway-consumer"
)

// tokenLifetime is longer than any run.
const tokenLifetime = 4 * time.Hour

// regionLabel is what offloadings select by; its value is the provider's name.
const regionLabel = "topology.kubernetes.io/region"

// install creates what is shipped, but for the Deployment: the manager runs as a
// process, because there is no image of it and no node in the consumer that
// would run one.
func (c *testCluster) install(kustomization string) {
	GinkgoHelper()
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(kustomized(kustomization)), 4096)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			break
		}
		Expect(err).NotTo(HaveOccurred(), kustomization)
		if object.GetKind() == "Deployment" {
			continue
		}
		Expect(c.Create(ctx, object, client.FieldValidation("Strict"))).To(Succeed(), "%s %s in %s", object.GetKind(), object.GetName(), c.Name())
		if object.GetKind() == "CustomResourceDefinition" {
			c.established(object)
		}
	}
}

func (c *testCluster) established(crd *unstructured.Unstructured) {
	GinkgoHelper()
	Eventually(func() (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			return false, err
		}
		conditions, _, err := unstructured.NestedSlice(crd.Object, "status", "conditions")
		return slices.ContainsFunc(conditions, func(condition any) bool {
			fields, ok := condition.(map[string]any)
			return ok && fields["type"] == "Established" && fields["status"] == "True"
		}), err
	}).Should(BeTrue(), "the API server serves %s", crd.GetName())
}

// kustomized is what make install-yaml writes to dist, from what is there now.
func kustomized(kustomization string) []byte {
	GinkgoHelper()
	command := exec.Command("go", "tool", "-modfile=go.tools.mod", "kustomize", "build", kustomization)
	command.Dir = root()
	var problems bytes.Buffer
	command.Stderr = &problems
	manifests, err := command.Output()
	Expect(err).NotTo(HaveOccurred(), "building %s: %s", kustomization, &problems)
	return manifests
}

// bind does what the provider's administrator and the platform engineer do: the
// kubeconfig of the provider's ServiceAccount goes into a Secret of the consumer,
// and a ClusterBinding names that.
func bind(provider *testCluster) {
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
	secret := kubeconfigSecret(provider)
	secret.Data = map[string][]byte{v1alpha1.DefaultKubeconfigKey: kubeconfig}
	consumer.create(secret, binding)
}

// bindAll binds all providers and waits until each is of use.
func bindAll() {
	GinkgoHelper()
	for _, provider := range providers() {
		bind(provider)
	}
	for _, provider := range providers() {
		binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: provider.Name()}}
		Eventually(read(consumer, binding, &v1alpha1.ClusterBinding{})).Should(
			haveCondition(v1alpha1.BindingReady, metav1.ConditionTrue), "provider %s is bound", provider.Name())
		Eventually(read(consumer, virtualNodeOf(provider), &corev1.Node{})).Should(
			haveCondition(string(corev1.NodeReady), metav1.ConditionTrue), "the virtual node of %s is ready for pods", provider.Name())
	}
}

// providers are those that there are.
func providers() []*testCluster {
	if dc == nil {
		return []*testCluster{eu}
	}
	return []*testCluster{eu, dc}
}

// virtualNode is the name of the node of a provider.
func virtualNode(provider string) string { return v1alpha1.VirtualNodePrefix + provider }

func virtualNodeOf(provider *testCluster) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: virtualNode(provider.Name())}}
}

// kubeconfigSecret names the Secret of the consumer with the provider's kubeconfig.
func kubeconfigSecret(provider *testCluster) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: provider.Name() + "-kubeconfig"}}
}
