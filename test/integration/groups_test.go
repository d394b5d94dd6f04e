package integration

import (
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// groupNodes reads the virtual nodes of a binding: their zone and architecture, what they offer, and whether they are
// cordoned.
func (c *controlPlane) groupNodes(cb *v1alpha1.ClusterBinding) func() ([]string, error) {
	return func() ([]string, error) {
		var nodes corev1.NodeList
		err := c.List(ctx, &nodes, client.MatchingLabels{v1alpha1.LabelCluster: cb.Spec.ClusterID})
		var all []string
		for i := range nodes.Items {
			n := &nodes.Items[i]
			text := fmt.Sprintf("%s/%s %s CPUs", n.Labels[corev1.LabelTopologyZone], n.Labels[corev1.LabelArchStable], n.Status.Allocatable.Cpu())
			if n.Spec.Unschedulable {
				text += " cordoned"
			}
			all = append(all, text)
		}
		slices.Sort(all)
		return all, err
	}
}

// groupNode returns the virtual node of a binding in a zone.
func (c *controlPlane) groupNode(cb *v1alpha1.ClusterBinding, zone string) *corev1.Node {
	GinkgoHelper()
	var nodes corev1.NodeList
	Expect(c.List(ctx, &nodes, client.MatchingLabels{v1alpha1.LabelCluster: cb.Spec.ClusterID, corev1.LabelTopologyZone: zone})).To(Succeed())
	Expect(nodes.Items).NotTo(BeEmpty())
	return &nodes.Items[0]
}

func inZone(zone, arch, cpu string) *corev1.Node {
	node := providerNode(cpu, "8Gi")
	node.Labels = map[string]string{corev1.LabelTopologyZone: zone, corev1.LabelArchStable: arch}
	return node
}

func groupedBy(keys ...string) func(*v1alpha1.ClusterBinding) {
	return func(cb *v1alpha1.ClusterBinding) { cb.Spec.VirtualNode.GroupBy = keys }
}

// emptyForLong says that a virtual node has been without a node of the provider for long.
func (c *controlPlane) emptyForLong(node *corev1.Node) {
	GinkgoHelper()
	Eventually(now(c, node)).Should(HaveField("Annotations", HaveKey(v1alpha1.AnnotationGroupEmptySince)))
	change(c, node, func(node *corev1.Node) {
		node.Annotations[v1alpha1.AnnotationGroupEmptySince] = time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	})
}

var _ = Describe("The virtual nodes of groups", Ordered, func() {
	var (
		t     team
		nodes map[string]*corev1.Node
		zones []string
		pod   *corev1.Pod
	)
	BeforeAll(func() {
		zones, nodes = []string{unique("a"), unique("b")}, map[string]*corev1.Node{}
		for i, zone := range zones {
			for j, arch := range []string{"amd64", "arm64"} {
				node := inZone(zone, arch, fmt.Sprint(1<<(2*i+j)))
				eu.make(node)
				nodes[zone+"/"+arch] = node
			}
		}
		DeferCleanup(func() {
			for _, node := range nodes {
				Expect(client.IgnoreNotFound(eu.Delete(ctx, node))).To(Succeed())
			}
		})
		t = newTeamWith(eu.providerKubeconfig(), groupedBy(corev1.LabelTopologyZone, corev1.LabelArchStable))
	})
	all := func() []string {
		return []string{zones[0] + "/amd64 1 CPUs", zones[0] + "/arm64 2 CPUs", zones[1] + "/amd64 4 CPUs", zones[1] + "/arm64 8 CPUs"}
	}

	It("appear, each with its capacity and a Lease", func() {
		Eventually(home.groupNodes(t.cb)).Should(Equal(all()))
		Eventually(home.condition(t.cb, v1alpha1.BindingGrouped)).Should(isTrue(v1alpha1.ReasonGrouped))
		Eventually(func() (names []string, err error) {
			var leases coordinationv1.LeaseList
			err = home.List(ctx, &leases, client.InNamespace(corev1.NamespaceNodeLease))
			for i := range leases.Items {
				if v1alpha1.ClusterIDOf(leases.Items[i].Name) == t.cb.Spec.ClusterID {
					names = append(names, leases.Items[i].Name)
				}
			}
			return names, err
		}).Should(HaveLen(4))
	})

	It("take the pods that select them, which run on nodes of the group", func() {
		name := unique("scheduler")
		home.runScheduler(name)
		pod = t.run(func(pod *corev1.Pod) {
			pod.Spec.NodeName, pod.Spec.SchedulerName, pod.Spec.NodeSelector = "", name, map[string]string{corev1.LabelTopologyZone: zones[0], corev1.LabelArchStable: "arm64"}
		})
		Eventually(now(home, pod)).Should(HaveField("Spec.NodeName", HavePrefix(t.cb.GroupNodeName("arm64-"+zones[0]))))
		remote := eu.remotePod(t.cb, pod)
		Expect(remote.Spec.NodeSelector).To(Equal(map[string]string{corev1.LabelTopologyZone: zones[0], corev1.LabelArchStable: "arm64"}))
		eu.schedule(remote)
		eu.setPodStatus(remote, corev1.PodRunning)
		Eventually(home.podPhase(pod)).Should(Equal(corev1.PodRunning))
	})

	It("cause no write when the manager starts again", func() {
		versions := func() []string {
			var nodes corev1.NodeList
			Expect(home.List(ctx, &nodes, client.MatchingLabels{v1alpha1.LabelCluster: t.cb.Spec.ClusterID})).To(Succeed())
			cb, err := home.binding(t.cb.Name)
			Expect(err).NotTo(HaveOccurred())
			all := []string{fmt.Sprint(cb.Status.VirtualNodes, cb.Status.Conditions)}
			for i := range nodes.Items {
				all = append(all, nodes.Items[i].Name+" "+nodes.Items[i].ResourceVersion)
			}
			return all
		}
		before, remote := versions(), eu.remotePod(t.cb, pod)
		restart(fleet.Options{})
		t.passesOn(home.groupNode(t.cb, zones[1]))
		Expect(versions()).To(Equal(before))
		Expect(now(eu, remote)()).To(And(HaveField("ResourceVersion", remote.ResourceVersion), Not(going)))
	})

	It("come back if somebody deletes one with pods while no manager runs, even if no node of its group takes pods", func() {
		Expect(home.fetching(pod)()).To(Succeed())
		deleted, there := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: pod.Spec.NodeName}}, nodes[zones[0]+"/arm64"]
		remote := eu.remotePod(t.cb, pod)
		change(eu, there, func(node *corev1.Node) { node.Spec.Unschedulable = true })
		Eventually(home.groupNodes(t.cb)).Should(ContainElement(zones[0] + "/arm64 0 CPUs"))
		running.stop()
		Expect(home.Delete(ctx, deleted)).To(Succeed())
		Eventually(home.fetching(deleted)).Should(absent)
		running = startManager(home, manager.Options{ConsumerID: homeID})
		Eventually(now(home, deleted)).Should(HaveField("Labels", HaveKeyWithValue(corev1.LabelArchStable, "arm64")))
		t.passesOn(home.groupNode(t.cb, zones[1]))
		Expect(now(eu, remote)()).NotTo(going)
		Expect(now(home, pod)()).NotTo(going)
		change(eu, there, func(node *corev1.Node) { node.Spec.Unschedulable = false })
		Eventually(home.groupNodes(t.cb)).Should(Equal(all()))
	})

	It("go when the provider has no node of the group for long, after their pods", func() {
		node := home.groupNode(t.cb, zones[0])
		Expect(home.fetching(pod)()).To(Succeed())
		node.Name = pod.Spec.NodeName
		eu.drop(nodes[zones[0]+"/arm64"])
		Eventually(home.groupNodes(t.cb)).Should(ContainElement(zones[0] + "/arm64 0 CPUs"))
		Expect(now(home, pod)()).NotTo(going, "an autoscaler may come back")
		eu.setPodStatus(eu.remotePod(t.cb, pod), corev1.PodRunning, func(status *corev1.PodStatus) {
			status.Conditions[0].Status, status.Conditions[1].Status = corev1.ConditionFalse, corev1.ConditionFalse
		})
		Eventually(now(home, pod)).Should(Not(HaveField("Status.Conditions", ContainElement(And(HaveField("Type", corev1.PodReady), HaveField("Status", corev1.ConditionTrue))))))
		home.emptyForLong(node)
		Eventually(now(home, pod)).Should(going)
		Expect(now(home, node)()).To(HaveField("Spec.Unschedulable", true))
		eu.end(eu.remotePod(t.cb, pod))
		Eventually(home.fetching(pod)).Should(absent)
		Eventually(home.groupNodes(t.cb)).Should(Equal(slices.Delete(all(), 1, 2)))
	})

	It("keep pods that run although the label of their node changes", func() {
		node := home.groupNode(t.cb, zones[1])
		arch := node.Labels[corev1.LabelArchStable]
		local := t.run(func(pod *corev1.Pod) { pod.Spec.NodeName = node.Name })
		remote := eu.remotePod(t.cb, local)
		eu.schedule(remote)
		eu.setPodStatus(remote, corev1.PodRunning)
		Eventually(home.podPhase(local)).Should(Equal(corev1.PodRunning))
		there := nodes[zones[1]+"/"+arch]
		change(eu, there, func(node *corev1.Node) { node.Labels[corev1.LabelArchStable] = "riscv64" })
		home.emptyForLong(node)
		Eventually(now(home, node)).Should(HaveField("Spec.Unschedulable", true))
		t.passesOn(home.groupNode(t.cb, zones[0])) // By then it would be evicted.
		Expect(now(home, local)()).NotTo(going)
		change(eu, there, func(node *corev1.Node) { node.Labels[corev1.LabelArchStable] = arch })
		Eventually(now(home, node)).Should(HaveField("Spec.Unschedulable", false))
		Expect(home.Delete(ctx, local, atOnce)).To(Succeed())
	})

	It("are one if there would be more than 64, or no node has the key", func() {
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.VirtualNode.GroupBy = []string{"example.com/none"} })
		Eventually(home.condition(t.cb, v1alpha1.BindingGrouped)).Should(isFalse(v1alpha1.ReasonGroupKeyMissing, "no node of the provider has the label example.com/none"))
		Eventually(home.groupNodes(t.cb)).Should(HaveLen(1), "the nodes of groups have no pods")
		for i := range 65 {
			eu.create(inZone(fmt.Sprintf("%s-%d", zones[0], i), "amd64", "1"))
		}
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.VirtualNode.GroupBy = []string{corev1.LabelTopologyZone}
		})
		Eventually(home.condition(t.cb, v1alpha1.BindingGrouped)).Should(isFalse(v1alpha1.ReasonTooManyGroups, "and at most 64"))
		Expect(home.groupNodes(t.cb)()).To(HaveLen(1))
	})

	It("leave no pod behind without groupBy, and none restarts", func() {
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) {
			cb.Spec.VirtualNode.GroupBy = []string{corev1.LabelArchStable}
		})
		var of *corev1.Node
		Eventually(func() string {
			var nodes corev1.NodeList
			Expect(home.List(ctx, &nodes, client.MatchingLabels{v1alpha1.LabelCluster: t.cb.Spec.ClusterID})).To(Succeed())
			for i := range nodes.Items {
				if of = &nodes.Items[i]; strings.HasPrefix(of.Name, t.cb.GroupNodeName("amd64")) {
					return of.Name
				}
			}
			return ""
		}).ShouldNot(BeEmpty())
		local := t.run(func(pod *corev1.Pod) { pod.Spec.NodeName = of.Name })
		remote := eu.remotePod(t.cb, local)
		change(home, t.cb, func(cb *v1alpha1.ClusterBinding) { cb.Spec.VirtualNode.GroupBy = nil })
		Eventually(now(home, of)).Should(HaveField("Spec.Unschedulable", true))
		Eventually(func() (bool, error) {
			node, err := now(home, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: t.cb.VirtualNodeName()}})()
			return err == nil && !node.Spec.Unschedulable, err
		}).Should(BeTrue())
		t.passes()
		Expect(now(eu, remote)()).NotTo(going)
		Expect(now(home, local)()).NotTo(going)
		Expect(home.Delete(ctx, local, atOnce)).To(Succeed())
		Eventually(home.fetching(of)).Should(absent)
		Eventually(func() ([]metav1.Condition, error) {
			cb, err := home.binding(t.cb.Name)
			return cb.Status.Conditions, err
		}).ShouldNot(ContainElement(HaveField("Type", v1alpha1.BindingGrouped)))
	})
})

var _ = It("The virtual nodes of groups go with their ClusterBinding", func() {
	eu.create(inZone(unique("a"), "amd64", "1"))
	eu.create(inZone(unique("b"), "arm64", "1"))
	cb := home.bind(eu, unique("spec"), groupedBy(corev1.LabelTopologyZone, corev1.LabelArchStable))
	home.bindingIsReady(cb)
	Eventually(home.groupNodes(cb)).Should(HaveLen(2))
	home.drop(cb)
	Eventually(home.fetching(cb)).Should(absent)
	Expect(home.groupNodes(cb)()).To(BeEmpty())
	home.nothingOf(cb)
})

// passesOn waits until a pod on a virtual node is in the provider.
func (t team) passesOn(node *corev1.Node) {
	GinkgoHelper()
	pod := t.run(func(pod *corev1.Pod) { pod.Spec.NodeName = node.Name })
	eu.remotePod(t.cb, pod)
	Expect(home.Delete(ctx, pod, atOnce)).To(Succeed())
}

var _ = It("A pod on the virtual node of a host gets to that host", func() {
	zone, host := unique("a"), unique("host")
	node := inZone(zone, "amd64", "1")
	node.Labels[corev1.LabelHostname] = host
	eu.create(node)
	t := newTeamWith(eu.providerKubeconfig(), groupedBy(corev1.LabelTopologyZone, corev1.LabelHostname))
	Eventually(home.groupNodes(t.cb)).Should(ContainElement(zone + "/amd64 1 CPUs"))
	virtual := home.groupNode(t.cb, zone)
	Expect(virtual.Labels).To(HaveKeyWithValue(corev1.LabelHostname, virtual.Name), "two providers may have hosts of the same name")
	pod := t.run(func(pod *corev1.Pod) { pod.Spec.NodeName = virtual.Name })
	Expect(eu.remotePod(t.cb, pod).Spec.NodeSelector).To(Equal(map[string]string{corev1.LabelTopologyZone: zone, corev1.LabelHostname: host}))
})

var _ = It("A pod that requests GPUs gets to nodes that are tainted for them, whatever the limits list", func() {
	const gpu = "nvidia.com/gpu"
	zone, scheduler, one := unique("a"), unique("scheduler"), corev1.ResourceList{gpu: resource.MustParse("1")}
	node := inZone(zone, "amd64", "4")
	node.Status.Allocatable[gpu] = one[gpu]
	node.Spec.Taints = []corev1.Taint{{Key: gpu, Value: "present", Effect: corev1.TaintEffectNoSchedule}}
	eu.create(node)
	t := newTeamWith(eu.providerKubeconfig(), groupedBy(corev1.LabelTopologyZone))
	Eventually(home.groupNodes(t.cb)).Should(ContainElement(zone + "/amd64 4 CPUs"))
	virtual := home.groupNode(t.cb, zone)
	Expect(virtual.Spec.Taints).To(ContainElement(corev1.Taint{Key: gpu, Effect: corev1.TaintEffectNoSchedule}), "other pods stay away")
	home.runScheduler(scheduler)
	pod := t.run(func(pod *corev1.Pod) {
		pod.Spec.NodeName, pod.Spec.SchedulerName = "", scheduler
		pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: one, Limits: one}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{Key: gpu, Operator: corev1.TolerationOpExists})
	})
	Eventually(now(home, pod)).Should(HaveField("Spec.NodeName", virtual.Name))
	Expect(eu.remotePod(t.cb, pod).Spec.Tolerations).To(ContainElement(HaveField("Key", gpu)))
})
