package integration

import (
	"fmt"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

const (
	// labelSpec separates the bindings of one spec from all others.
	labelSpec = "example.com/spec"
	region    = "example.com/region"
)

var count atomic.Int32

// unique returns a name that no other object has.
func unique(prefix string) string { return fmt.Sprintf("%s-%d", prefix, count.Add(1)) }

// bindingOption changes a ClusterBinding before its creation.
type bindingOption func(*v1alpha1.ClusterBinding)

func withLabels(pairs ...string) bindingOption {
	return func(cb *v1alpha1.ClusterBinding) {
		if cb.Spec.VirtualNode.Labels == nil {
			cb.Spec.VirtualNode.Labels = map[string]v1alpha1.LabelValue{}
		}
		for i := 0; i < len(pairs); i += 2 {
			cb.Spec.VirtualNode.Labels[pairs[i]] = v1alpha1.LabelValue(pairs[i+1])
		}
	}
}

func withClusterID(id string) bindingOption {
	return func(cb *v1alpha1.ClusterBinding) { cb.Spec.ClusterID = id }
}

func allowingNames(pattern string, strategies ...v1alpha1.NamespaceMappingStrategy) bindingOption {
	return func(cb *v1alpha1.ClusterBinding) {
		cb.Spec.RemoteNamespaces = v1alpha1.RemoteNamespaces{Strategies: strategies, NamePattern: pattern}
	}
}

// newBinding uses the name also for the clusterID and the Secret. It allows teams every naming strategy.
func newBinding(name string, options ...bindingOption) *v1alpha1.ClusterBinding {
	cb := &v1alpha1.ClusterBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.ClusterBindingSpec{
			ClusterID:           name,
			KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: name},
			RemoteNamespaces: v1alpha1.RemoteNamespaces{Strategies: []v1alpha1.NamespaceMappingStrategy{
				v1alpha1.MappingDefaultName, v1alpha1.MappingEnforceSameName, v1alpha1.MappingSelectedName,
			}},
		},
	}
	for _, option := range options {
		option(cb)
	}
	return cb
}

// make creates an object.
func (c *controlPlane) make(object client.Object) {
	GinkgoHelper()
	Expect(c.Create(ctx, object)).To(Succeed())
}

// create creates an object that is deleted when the spec ends.
func (c *controlPlane) create(object client.Object) {
	GinkgoHelper()
	c.make(object)
	DeferCleanup(func() { c.drop(object) })
}

// drop deletes an object if it exists.
func (c *controlPlane) drop(object client.Object) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(c.Delete(ctx, object))).To(Succeed())
}

// bind creates a ClusterBinding of the provider with its Secret, for the specs with the label.
func (c *controlPlane) bind(provider *controlPlane, spec string, options ...bindingOption) *v1alpha1.ClusterBinding {
	GinkgoHelper()
	return c.bindWith(provider.providerKubeconfig(), provider.Name, spec, options...)
}

// bindWith creates a ClusterBinding with that kubeconfig.
func (c *controlPlane) bindWith(kubeconfig []byte, prefix, spec string, options ...bindingOption) *v1alpha1.ClusterBinding {
	GinkgoHelper()
	cb := newBinding(unique(prefix), append([]bindingOption{withLabels(labelSpec, spec)}, options...)...)
	c.putKubeconfig(cb.Spec.KubeconfigSecretRef.Name, kubeconfig)
	c.create(cb)
	return cb
}

// newNamespace creates a namespace in the consumer.
func (c *controlPlane) newNamespace(labels ...string) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: unique("team"), Labels: map[string]string{}}}
	for i := 0; i < len(labels); i += 2 {
		namespace.Labels[labels[i]] = labels[i+1]
	}
	c.create(namespace)
	return namespace.Name
}

// offloadingOption changes a NamespaceOffloading before its creation.
type offloadingOption func(*v1alpha1.NamespaceOffloading)

func selectedName(remote string) offloadingOption {
	return func(nso *v1alpha1.NamespaceOffloading) {
		nso.Spec.NamespaceMappingStrategy, nso.Spec.RemoteNamespaceName = v1alpha1.MappingSelectedName, remote
	}
}

func sameName(nso *v1alpha1.NamespaceOffloading) {
	nso.Spec.NamespaceMappingStrategy = v1alpha1.MappingEnforceSameName
}

func podsGo(strategy v1alpha1.PodOffloadingStrategy) offloadingOption {
	return func(nso *v1alpha1.NamespaceOffloading) { nso.Spec.PodOffloadingStrategy = strategy }
}

func newOffloading(namespace string, selector *v1alpha1.ClusterSelector, options ...offloadingOption) *v1alpha1.NamespaceOffloading {
	nso := &v1alpha1.NamespaceOffloading{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: v1alpha1.OffloadingName},
		Spec:       v1alpha1.NamespaceOffloadingSpec{ClusterSelector: selector},
	}
	for _, option := range options {
		option(nso)
	}
	return nso
}

// offload creates the NamespaceOffloading of a namespace.
func (c *controlPlane) offload(namespace string, selector *v1alpha1.ClusterSelector, options ...offloadingOption) *v1alpha1.NamespaceOffloading {
	GinkgoHelper()
	nso := newOffloading(namespace, selector, options...)
	c.create(nso)
	return nso
}

// offloadNew creates a namespace and offloads it.
func (c *controlPlane) offloadNew(selector *v1alpha1.ClusterSelector, options ...offloadingOption) string {
	GinkgoHelper()
	namespace := c.newNamespace()
	c.offload(namespace, selector, options...)
	return namespace
}

// selecting selects the bindings with all of the labels.
func selecting(pairs ...string) *v1alpha1.ClusterSelector {
	term := v1alpha1.ClusterSelectorTerm{}
	for i := 0; i < len(pairs); i += 2 {
		term.MatchExpressions = append(term.MatchExpressions, v1alpha1.ClusterSelectorRequirement{
			Key: pairs[i], Operator: corev1.NodeSelectorOpIn, Values: []string{pairs[i+1]},
		})
	}
	return &v1alpha1.ClusterSelector{NodeSelectorTerms: []v1alpha1.ClusterSelectorTerm{term}}
}

// change patches an existing object.
func change[T client.Object](c *controlPlane, object T, edit func(T)) {
	GinkgoHelper()
	Expect(c.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
	before := object.DeepCopyObject().(client.Object)
	edit(object)
	Expect(c.Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
}
