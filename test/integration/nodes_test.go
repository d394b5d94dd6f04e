package integration

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// providerNode is a node of a provider without a kubelet.
func providerNode(cpu, memory string) *corev1.Node {
	resources := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: unique("node")},
		Status: corev1.NodeStatus{
			Capacity: resources, Allocatable: resources,
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
}

// virtualNode reads the virtual node of a binding.
func (c *controlPlane) virtualNode(cb *v1alpha1.ClusterBinding) *corev1.Node {
	GinkgoHelper()
	node := &corev1.Node{}
	Expect(c.Get(ctx, client.ObjectKey{Name: cb.VirtualNodeName()}, node)).To(Succeed())
	return node
}

// offer reads what a binding's virtual node offers.
func (c *controlPlane) offer(cb *v1alpha1.ClusterBinding) func() (string, error) {
	return func() (string, error) {
		node := &corev1.Node{}
		err := c.Get(ctx, client.ObjectKey{Name: cb.VirtualNodeName()}, node)
		offer := node.Status.Allocatable
		return "cpu " + offer.Cpu().String() + ", memory " + offer.Memory().String() + ", pods " + offer.Pods().String(), err
	}
}

// renewed returns when the Lease of a binding's virtual node was last renewed.
func (c *controlPlane) renewed(cb *v1alpha1.ClusterBinding) time.Time {
	GinkgoHelper()
	lease := &coordinationv1.Lease{}
	Eventually(func() error {
		return c.Get(ctx, client.ObjectKey{Namespace: corev1.NamespaceNodeLease, Name: cb.VirtualNodeName()}, lease)
	}).Should(Succeed(), "the node should have a lease")
	return lease.Spec.RenewTime.Time
}

// isRenewed waits until the Leases of the bindings' virtual nodes have been renewed since a moment. That
// takes at most 5 seconds.
func (c *controlPlane) isRenewed(since time.Time, bindings ...*v1alpha1.ClusterBinding) {
	GinkgoHelper()
	for _, cb := range bindings {
		Eventually(func() time.Time { return c.renewed(cb) }).Should(BeTemporally(">", since), "the lease of %s should be renewed", cb.Name)
	}
}

// counts reads how many remote namespaces a binding reports.
func (c *controlPlane) counts(cb *v1alpha1.ClusterBinding) func() (string, error) {
	return func() (string, error) {
		current, err := c.binding(cb.Name)
		return current.Status.Namespaces.Summary, err
	}
}
