//go:build e2e

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// What the ClusterBinding of sky says about nodes that do not exist: twice as many as the NodePool's limits allow.
const (
	skyNodes    = 6
	skyLimit    = 3
	podsPerNode = 2
)

var _ = Describe("A provider that Karpenter grows", Ordered, growing, func() {
	var cloud *team

	BeforeAll(func() {
		startSky()
		sky.install("config/provider")
		bind(sky, func(binding *v1alpha1.ClusterBinding) {
			binding.Spec.VirtualNode.GroupBy = []string{corev1.LabelInstanceTypeStable}
			binding.Spec.VirtualNode.Elastic = elasticFor(time.Hour)
		})
		DeferCleanup(unbindSky)
		cloud = newTeam("cloud", sky, overflowing)
	})

	It("shows the nodes that can be, while it has none", func() {
		Eventually(skyCPUs).Should(Equal(fmt.Sprintf("%dm", skyNodes*3900)), "six nodes of 3.9 CPUs")
		Expect(sky.grown()).To(BeZero())
	})

	It("gets nodes from none for pods of the consumer", func() {
		begin := time.Now()
		consumer.create(filling(cloud.namespace, "web", skyLimit*podsPerNode))
		cloud.rolledOut("web")
		note("from 0 to %d nodes, and all of %d pods Ready: %s", skyLimit, skyLimit*podsPerNode, time.Since(begin))
		Expect(cloud.placed()).To(Equal(fmt.Sprintf("%d in sky", skyLimit*podsPerNode)))
		Eventually(sky.grown).Should(Equal(skyLimit), "a pod may run before Karpenter has looked at its node")
	})

	It("runs the other pods in the next tier as soon as Karpenter says that it cannot grow", func() {
		begin := time.Now()
		consumer.mustKubectl("scale", "deployment/web", "-n", cloud.namespace, fmt.Sprintf("--replicas=%d", skyLimit*podsPerNode+3))
		Eventually(cloud.placed).WithTimeout(2 * patience).Should(Equal(fmt.Sprintf("%d in sky, 3 in eu", skyLimit*podsPerNode)))
		cloud.rolledOut("web")
		note("NodePool at its limits: 3 pods Ready in the next tier after %s, of the hour that they may wait", time.Since(begin))
		Expect(sky.grown()).To(Equal(skyLimit))
	})

	It("has no node when the pods have gone, and shows those that can be", func() {
		consumer.mustKubectl("scale", "deployment/web", "-n", cloud.namespace, "--replicas=0")
		Eventually(sky.grown).WithTimeout(2 * patience).Should(BeZero())
		Eventually(skyCPUs).Should(Equal(fmt.Sprintf("%dm", skyNodes*3900)))
	})

	It("gives pods up after the binding's time, if nobody says anything", func() {
		const wait = 20 * time.Second
		// Without a NodePool, Karpenter does not even write an event.
		sky.mustKubectl("delete", "nodepool", "default")
		changeSky(func(binding *v1alpha1.ClusterBinding) { binding.Spec.VirtualNode.Elastic = elasticFor(wait) })
		quiet := newTeam("quiet", sky, overflowing)
		begin := time.Now()
		consumer.create(filling(quiet.namespace, "web", 1))
		Eventually(quiet.placed).WithTimeout(2 * patience).Should(Equal("1 in eu"))
		quiet.rolledOut("web")
		note("nobody grows or says so: a pod is Ready in the next tier after %s, with elastic.after %s", time.Since(begin), wait)
	})
})

// overflowing gives an offloading to sky a second tier. Pods that sky has no room for are replaced, never by
// spec.unschedulable.after.
func overflowing(spec *v1alpha1.NamespaceOffloadingSpec) {
	spec.ClusterSelector = nil
	spec.Overflow = []v1alpha1.OverflowTier{tierOf(sky), tierOf(eu)}
	spec.Overflow[1].After = &metav1.Duration{Duration: time.Second}
	spec.Unschedulable = &v1alpha1.Unschedulable{Action: v1alpha1.UnschedulableReplace, After: &metav1.Duration{Duration: time.Hour}}
}

func tierOf(provider *testCluster) v1alpha1.OverflowTier {
	return v1alpha1.OverflowTier{ClusterSelector: &v1alpha1.TierSelector{NodeSelectorTerms: []v1alpha1.TierSelectorTerm{{
		MatchExpressions: []v1alpha1.ClusterSelectorRequirement{{Key: regionLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{provider.Name()}}},
	}}}}
}

// elasticFor says that sky grows, and how long a pod waits there for a node.
func elasticFor(after time.Duration) *v1alpha1.Elastic {
	return &v1alpha1.Elastic{
		After: &metav1.Duration{Duration: after},
		Groups: []v1alpha1.ElasticGroup{{
			Labels:   map[string]v1alpha1.LabelValue{corev1.LabelInstanceTypeStable: "c-4x-amd64-linux"},
			Node:     map[corev1.ResourceName]resource.Quantity{corev1.ResourceCPU: resource.MustParse("3900m"), corev1.ResourceMemory: resource.MustParse("8182Mi"), corev1.ResourcePods: resource.MustParse("64")},
			MaxNodes: skyNodes,
		}},
	}
}

// filling returns a Deployment of which two pods fill a node of sky.
func filling(namespace, name string, replicas int32) *appsv1.Deployment {
	deployment := newDeployment(namespace, name, replicas)
	deployment.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")}
	return deployment
}

// skyNode reads the virtual node of sky's only group; nil if there is none.
func skyNode() (*corev1.Node, error) {
	var nodes corev1.NodeList
	err := consumer.List(ctx, &nodes, client.MatchingLabels{regionLabel: sky.Name()})
	if err != nil || len(nodes.Items) == 0 {
		return nil, err
	}
	return &nodes.Items[0], nil
}

// skyCPUs returns the CPUs that the virtual node of sky shows.
func skyCPUs() (string, error) {
	node, err := skyNode()
	if err != nil || node == nil {
		return "", err
	}
	return node.Status.Allocatable.Cpu().String(), nil
}

// placed says how many pods of the namespace run in which provider. Pods that wait for a node, or are being
// deleted, are left out.
func (t *team) placed() (string, error) {
	var pods corev1.PodList
	if err := consumer.List(ctx, &pods, client.InNamespace(t.namespace)); err != nil {
		return "", err
	}
	count := map[string]int{}
	for i := range pods.Items {
		if pod := &pods.Items[i]; pod.DeletionTimestamp.IsZero() && pod.Status.Phase == corev1.PodRunning {
			node := corev1.Node{}
			if err := consumer.Get(ctx, clientKey("", pod.Spec.NodeName), &node); err != nil {
				return "", err
			}
			count[node.Labels[regionLabel]]++
		}
	}
	var parts []string
	for _, provider := range slices.Backward(slices.Sorted(maps.Keys(count))) {
		parts = append(parts, fmt.Sprintf("%d in %s", count[provider], provider))
	}
	return strings.Join(parts, ", "), nil
}

// changeSky changes the ClusterBinding of sky.
func changeSky(change func(*v1alpha1.ClusterBinding)) {
	GinkgoHelper()
	binding := bindingOf(sky)
	Expect(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := consumer.Get(ctx, client.ObjectKeyFromObject(binding), binding); err != nil {
			return err
		}
		change(binding)
		return consumer.Update(ctx, binding)
	})).To(Succeed())
}

func unbindSky() {
	GinkgoHelper()
	Expect(consumer.Delete(ctx, bindingOf(sky))).To(Succeed())
	Eventually(read(consumer, bindingOf(sky), &v1alpha1.ClusterBinding{})).WithTimeout(2*patience).Should(beGone(), "the binding is deleted")
	Expect(consumer.Delete(ctx, kubeconfigSecret(sky))).To(Succeed())
}

// note reports a time. Nothing depends on it.
func note(format string, args ...any) {
	for i := range args {
		if took, ok := args[i].(time.Duration); ok {
			args[i] = took.Round(100 * time.Millisecond)
		}
	}
	AddReportEntry("time", fmt.Sprintf(format, args...))
}
