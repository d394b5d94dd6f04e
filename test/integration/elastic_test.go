package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// pool is the label of the nodes that the autoscaler of eu starts.
const pool = "example.com/pool"

var _ = Describe("A provider that grows", slow, func() {
	It("runs pods from zero nodes, and those that its autoscaler declines run in the next tier", func() {
		e := newElastic(unique("grow"), time.Hour, time.Second)
		e.scale(2)
		Eventually(e.placed).WithTimeout(time.Minute).Should(Equal("2 in eu, 0 in us, 0 nowhere"), "eu shows what it can have")
		Eventually(e.unplaced).Should(Equal(2))
		Eventually(home.condition(e.eu, v1alpha1.BindingElastic)).WithTimeout(time.Minute).Should(isTrue(v1alpha1.ReasonPodsWait, "2 pods wait for more"))
		before := e.names()

		By("starting a node, as an autoscaler does for pods that wait")
		e.startNode()
		Eventually(e.running).Should(Equal(2))
		Expect(e.names()).To(Equal(before), "none has been replaced, although eu could not place it for longer than spec.unschedulable.after")
		Eventually(home.condition(e.eu, v1alpha1.BindingElastic)).WithTimeout(time.Minute).Should(isTrue(v1alpha1.ReasonElastic, "no pod waits for more"))

		By("declining the next pod")
		e.scale(3)
		Eventually(e.placed).WithTimeout(time.Minute).Should(Equal("3 in eu, 0 in us, 0 nowhere"))
		Eventually(e.unplaced).Should(Equal(1))
		e.decline()
		Eventually(e.placed).WithTimeout(time.Minute).Should(Equal("2 in eu, 1 in us, 0 nowhere"))
		Eventually(home.offloading(e.team)).Should(HaveField("Full", ConsistOf(And(HaveField("Cluster", e.eu.Spec.ClusterID), HaveField("Reason", v1alpha1.ReasonNoNewNode)))))
		for _, name := range before {
			Expect(e.names()).To(ContainElement(name), "those that run stay")
		}

		By("starting the manager again, which writes nothing")
		versions := e.versions()
		restart(fleet.Options{})
		home.passes(selecting(labelSpec, e.set.Name))
		Expect(e.versions()).To(Equal(versions))
	})

	It("is given up when no node has come for spec.virtualNode.elastic.after", func() {
		e := newElastic(unique("silent"), time.Second, time.Hour)
		e.scale(1)
		Eventually(func() string {
			e.unplaced()
			return e.placed()
		}).WithTimeout(time.Minute).Should(Equal("0 in eu, 1 in us, 0 nowhere"))
	})
})

// elastic is a namespace with two tiers: eu, which has a group that can grow and no node of it, and us. A ReplicaSet's pods
// need a slot each, which only nodes of this spec have.
type elastic struct {
	overflow
	slot corev1.ResourceName
}

func newElastic(spec string, elasticAfter, after time.Duration) *elastic {
	GinkgoHelper()
	e := &elastic{slot: corev1.ResourceName("example.com/" + spec)}
	grows := func(cb *v1alpha1.ClusterBinding) {
		cb.Spec.VirtualNode.GroupBy = []string{pool}
		cb.Spec.VirtualNode.Elastic = &v1alpha1.Elastic{After: &metav1.Duration{Duration: elasticAfter}, Groups: []v1alpha1.ElasticGroup{{
			Labels: map[string]v1alpha1.LabelValue{pool: v1alpha1.LabelValue(spec)}, MaxNodes: 2,
			Node: map[corev1.ResourceName]resource.Quantity{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), e.slot: resource.MustParse("3")},
		}}}
	}
	us.create(e.node(""))
	e.eu, e.us = home.bind(eu, spec, withLabels(region, "first"), grows), home.bind(us, spec, withLabels(region, "second"))
	home.bindingIsReady(e.eu, e.us)
	Eventually(func() (nodes corev1.NodeList, err error) {
		return nodes, home.List(ctx, &nodes, client.MatchingLabels{v1alpha1.LabelCluster: e.eu.Spec.ClusterID, pool: spec})
	}).Should(HaveField("Items", ConsistOf(WithTransform(e.shows, Equal("6")))), "from zero nodes")
	e.team = home.offloadNew(nil, func(nso *v1alpha1.NamespaceOffloading) {
		nso.Spec.PodOffloadingStrategy = v1alpha1.PodsRemote
		for _, name := range []string{"first", "second"} {
			nso.Spec.Overflow = append(nso.Spec.Overflow, builder.Tier(selecting(labelSpec, spec, region, name).NodeSelectorTerms[0].MatchExpressions))
		}
		nso.Spec.Overflow[1].After = &metav1.Duration{Duration: time.Second}
		givingUpAfter(after)(nso)
	})
	home.offloadingIsReady(e.team)
	home.takesPods(e.team)
	home.runScheduler(spec)
	labels := map[string]string{"app": spec}
	pod := newPodSpec()
	pod.Tolerations, pod.SchedulerName = nil, spec
	pod.Containers[0].Resources = corev1.ResourceRequirements{Limits: corev1.ResourceList{e.slot: resource.MustParse("1")}}
	e.set = &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: e.team, Name: spec}, Spec: appsv1.ReplicaSetSpec{
		Replicas: ptr.To[int32](0), Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
	}}
	home.create(e.set)
	DeferCleanup(e.sweep)
	return e
}

// node returns a node with slots.
func (e *elastic) node(of string) *corev1.Node {
	node := providerNode("4", "8Gi")
	node.Status.Capacity[e.slot], node.Status.Allocatable[e.slot] = resource.MustParse("3"), resource.MustParse("3")
	if of != "" {
		node.Labels = map[string]string{pool: of}
	}
	return node
}

// shows returns how many slots a node shows.
func (e *elastic) shows(node corev1.Node) string {
	slots := node.Status.Allocatable[e.slot]
	return slots.String()
}

func (e *elastic) placed() string {
	GinkgoHelper()
	on := map[string]int{}
	for _, pod := range e.pods() {
		on[v1alpha1.ClusterIDOf(pod.Spec.NodeName)]++
	}
	return fmt.Sprintf("%d in eu, %d in us, %d nowhere", on[e.eu.Spec.ClusterID], on[e.us.Spec.ClusterID], on[""])
}

func (e *elastic) names() (names []string) {
	GinkgoHelper()
	for _, pod := range e.pods() {
		names = append(names, pod.Name)
	}
	slices.Sort(names)
	return names
}

// startNode starts a node in eu, and runs the pods there that wait for it and ask for its label.
func (e *elastic) startNode() {
	GinkgoHelper()
	eu.create(e.node(e.set.Name))
	for _, pod := range eu.remotePodsOf(e.eu) {
		Expect(pod.Spec.NodeSelector).To(HaveKeyWithValue(pool, e.set.Name))
		eu.schedule(&pod)
		eu.setPodStatus(&pod, corev1.PodRunning, scheduled)
	}
}

// decline says of each pod in eu that waits what Cluster Autoscaler says.
func (e *elastic) decline() {
	GinkgoHelper()
	for _, pod := range eu.remotePodsOf(e.eu) {
		if pod.Spec.NodeName != "" {
			continue
		}
		eu.create(&corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: unique("declined")}, Type: corev1.EventTypeNormal,
			InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
			Reason:         "NotTriggerScaleUp", Message: "pod didn't trigger scale-up: 1 max node group size reached", Source: corev1.EventSource{Component: "cluster-autoscaler"},
		})
	}
}

func (e *elastic) running() (n int) {
	GinkgoHelper()
	for _, pod := range e.pods() {
		if pod.Status.Phase == corev1.PodRunning {
			n++
		}
	}
	return n
}

// versions returns the versions of all that the manager may write about the pods and their nodes.
func (e *elastic) versions() map[string]string {
	GinkgoHelper()
	all := map[string]string{}
	text := func(parts ...any) string {
		encoded, err := json.Marshal(parts)
		Expect(err).NotTo(HaveOccurred())
		return string(encoded)
	}
	for _, pod := range e.pods() {
		all[pod.Name] = pod.ResourceVersion
	}
	var nodes corev1.NodeList
	Expect(home.List(ctx, &nodes, client.MatchingLabels{v1alpha1.LabelCluster: e.eu.Spec.ClusterID})).To(Succeed())
	for i := range nodes.Items {
		node := &nodes.Items[i]
		for j := range node.Status.Conditions {
			node.Status.Conditions[j].LastHeartbeatTime = metav1.Time{}
		}
		all[node.Name] = text(node.Labels, node.Annotations, node.Spec, node.Status.Capacity, node.Status.Allocatable, node.Status.Conditions)
	}
	cb, err := home.binding(e.eu.Name)
	Expect(err).NotTo(HaveOccurred())
	all["binding"] = text(cb.Labels, cb.Annotations, cb.Status.Conditions, cb.Status.VirtualNodes)
	nso := newOffloading(e.team, nil)
	Expect(home.Get(ctx, client.ObjectKeyFromObject(nso), nso)).To(Succeed())
	all["offloading"] = nso.ResourceVersion
	return all
}
