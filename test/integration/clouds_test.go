package integration

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	cloudprovider "k8s.io/cloud-provider"
	"k8s.io/cloud-provider/controllers/nodelifecycle"
	"k8s.io/component-base/metrics/prometheus/controllers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/virtualnode"
	"github.com/spillway-io/spillway/internal/manager"
)

// collected is how long Kubernetes may take to delete the pods of a deleted node. It checks every 20 seconds,
// and again after a quarantine of 40.
const collected = 3 * time.Minute

// cloud has no machine for a virtual node. Kubernetes' lifecycle controller asks it about each node that is
// not Ready, and deletes the node if the cloud says that there is no machine.
type cloud struct {
	cloudprovider.Interface
	// exists returns what the cloud says of a provider ID.
	exists func(providerID string) (bool, error)

	mu    sync.Mutex
	asked map[string]int
}

// If there are both Instances and InstancesV2, the controller uses the latter.
func (c *cloud) Instances() (cloudprovider.Instances, bool)     { return nil, false }
func (c *cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return c, true }

func (c *cloud) InstanceExists(_ context.Context, node *corev1.Node) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		c.asked = map[string]int{}
	}
	c.asked[node.Name]++
	return c.exists(node.Spec.ProviderID)
}

// InstanceMetadata is for another controller, which registers nodes with a cloud.
func (c *cloud) InstanceMetadata(context.Context, *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	return nil, cloudprovider.InstanceNotFound
}

func (c *cloud) InstanceShutdown(context.Context, *corev1.Node) (bool, error) { return false, nil }

func (c *cloud) askedAbout(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[name]
}

// What clouds say of a foreign provider ID, and of a node without one.
var (
	// refusing cannot parse it: AWS, Google, OpenStack, Hetzner and DigitalOcean.
	refusing = func(providerID string) (bool, error) {
		if providerID == "" {
			return false, nil // They find no machine by the node's name.
		}
		return false, fmt.Errorf("cannot read provider ID %s", providerID)
	}
	// tolerating treats it as somebody else's: Azure.
	tolerating = func(providerID string) (bool, error) { return providerID != "", nil }
	// denying looks for a machine all the same: vSphere.
	denying = func(string) (bool, error) { return false, nil }
)

// watch runs the lifecycle controller over the nodes of a cluster until the test ends, or stop is called.
func (c *cloud) watch(over *controlPlane) (stop func()) {
	GinkgoHelper()
	kubernetes, err := kubernetes.NewForConfig(over.Config())
	Expect(err).NotTo(HaveOccurred())
	factory := informers.NewSharedInformerFactory(kubernetes, 0)
	nodes := factory.Core().V1().Nodes()
	// The clouds' controllers check every five seconds.
	controller, err := nodelifecycle.NewCloudNodeLifecycleController(nodes, kubernetes, c, 5*time.Second)
	Expect(err).NotTo(HaveOccurred())
	watchCtx, cancel := context.WithCancel(ctx)
	factory.Start(watchCtx.Done())
	factory.WaitForCacheSync(watchCtx.Done())
	var running sync.WaitGroup
	running.Go(func() { controller.Run(watchCtx, controllers.NewControllerManagerMetrics("cloud")) })
	stop = func() { cancel(); running.Wait() }
	DeferCleanup(stop)
	return stop
}

var _ = Describe("On a cloud that knows no such machine, the virtual node of a provider that is away", Ordered, slow, func() {
	var (
		t             team
		local, remote *corev1.Pod
		node          *corev1.Node
	)

	BeforeAll(func() {
		t = newTeam()
		local, remote = t.running(func(pod *corev1.Pod) {
			// An ordinary pod's tolerations: it may stay for a while on a node that is not Ready.
			pod.Spec.Tolerations = []corev1.Toleration{{Key: v1alpha1.TaintVirtualNode, Operator: corev1.TolerationOpExists}}
		})
		Expect(eu.KillAPIServer(ctx)).To(Succeed())
		DeferCleanup(func() { startAPIServer(eu) })
		Eventually(home.condition(t.cb, v1alpha1.BindingVirtualNodeReady)).Should(isFalse(v1alpha1.ReasonNodeNotReady), "the node should become NotReady by itself")
		node = home.virtualNode(t.cb)
	})

	stays := func(exists func(string) (bool, error)) {
		GinkgoHelper()
		c := &cloud{exists: exists}
		stop := c.watch(home)
		orphan := home.orphan()
		Eventually(home.fetching(orphan)).Should(absent, "a node without a provider ID is deleted")
		Eventually(func() int { return c.askedAbout(node.Name) }).Should(BeNumerically(">", 1))
		stop()
		Expect(home.virtualNode(t.cb).UID).To(Equal(node.UID), "the node should be let alone")
	}

	It("is let alone where a provider ID of another scheme cannot be read", func() { stays(refusing) })
	It("is let alone where a provider ID of another scheme is somebody else's", func() { stays(tolerating) })

	It("is made again where it is deleted all the same, and its pods stay", func() {
		orphan := home.orphan()
		lost := home.runPod(t.cb, t.namespace, func(pod *corev1.Pod) { pod.Spec.NodeName = orphan.Name })
		stop := (&cloud{exists: denying}).watch(home)
		Eventually(home.fetching(orphan)).Should(absent)
		Eventually(func() (bool, error) {
			current := &corev1.Node{}
			err := home.Get(ctx, client.ObjectKeyFromObject(node), current)
			return current.UID != node.UID, err
		}).Should(BeTrue(), "the node should be made again, though its provider is away")
		Eventually(home.fetching(lost)).WithTimeout(collected).Should(absent, "the garbage collector should have looked")
		stop()
		Expect(now(home, local)()).To(And(HaveField("UID", local.UID), HaveField("DeletionTimestamp", BeNil()), HaveField("Status.Phase", corev1.PodRunning)),
			"a pod whose node is there is no garbage")

		startAPIServer(eu)
		home.bindingIsReady(t.cb)
		Expect(now(eu, remote)()).To(And(HaveField("UID", remote.UID), HaveField("DeletionTimestamp", BeNil())))
		eu.setPodStatus(remote, corev1.PodRunning, func(status *corev1.PodStatus) { status.Message = "back" })
		Eventually(now(home, local)).Should(And(HaveField("UID", local.UID), HaveField("Status.Message", "back")))
		Expect(home.virtualNode(t.cb).Spec.ProviderID).To(HaveSuffix(node.Name))
	})

	It("keeps its pods when it gets its provider ID later", func() {
		running.stop()
		old := virtualnode.New(owner(t.cb), virtualnode.Offer{})
		old.Spec.ProviderID = ""
		Expect(home.Delete(ctx, home.virtualNode(t.cb))).To(Succeed())
		home.make(old)
		running = startManager(home, manager.Options{ConsumerID: homeID})
		Eventually(now(home, old)).Should(HaveField("Spec.ProviderID", "spillway://"+old.Name))
		Expect(home.virtualNode(t.cb).UID).To(Equal(old.UID), "it is the same node")
		home.bindingIsReady(t.cb)
		Expect(now(home, local)()).To(And(HaveField("UID", local.UID), HaveField("DeletionTimestamp", BeNil())))
		Expect(now(eu, remote)()).To(And(HaveField("UID", remote.UID), HaveField("DeletionTimestamp", BeNil())))
	})
})

// owner returns the current version of a binding.
func owner(cb *v1alpha1.ClusterBinding) *v1alpha1.ClusterBinding {
	GinkgoHelper()
	current, err := home.binding(cb.Name)
	Expect(err).NotTo(HaveOccurred())
	return current
}

// orphan creates a node that no kubelet serves.
func (c *controlPlane) orphan() *corev1.Node {
	GinkgoHelper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: unique("orphan")}}
	c.create(node)
	return node
}
