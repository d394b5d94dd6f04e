package integration

import (
	"fmt"
	"strings"
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
)

// A provider without room is in stuckpods_test.go: "refuses runs in the next tier" is about a full quota, and
// "has room for in all nodes together, but in none of them" about pods that fit no single node.
var _ = Describe("Replicas in a provider", slow, func() {
	// Real schedulers place the pods of both clusters. Only the nodes of this spec, two in zone a and one in zone b,
	// have what its pods need.
	It("run on different hosts, in different zones, or beside pods of another namespace, if they must", func() {
		spec := unique("apart")
		slot := corev1.ResourceName("example.com/" + spec)
		var hosts []string
		for _, zone := range []string{"a", "a", "b"} {
			node := providerNode("4", "8Gi")
			node.Labels = map[string]string{corev1.LabelHostname: node.Name, corev1.LabelTopologyZone: zone, corev1.LabelInstanceTypeStable: zone}
			node.Status.Capacity[slot], node.Status.Allocatable[slot] = resource.MustParse("20"), resource.MustParse("20")
			eu.create(node)
			change(eu, node, func(n *corev1.Node) { n.Spec.Taints = nil }) // Admission has added node.kubernetes.io/not-ready, and nobody takes it off.
			hosts = append(hosts, node.Name)
		}
		t := team{cb: home.bind(eu, spec, withLabels(corev1.LabelTopologyZone, "eu"))}
		home.bindingIsReady(t.cb)
		Eventually(func() *corev1.Node { return home.virtualNode(t.cb) }).Should(HaveField("Status.Allocatable", HaveKey(slot)))
		t.namespace = home.offloadNew(selecting(labelSpec, spec), func(nso *v1alpha1.NamespaceOffloading) { nso.Spec.PodOffloadingStrategy = v1alpha1.PodsRemote })
		home.offloadingIsReady(t.namespace)
		home.takesPods(t.namespace)
		t.sweepAfterwards(t.namespace)
		home.runScheduler(spec)
		eu.runScheduler(corev1.DefaultSchedulerName)

		// replicas creates a ReplicaSet, and returns a function that says how many of its pods are on each host.
		replicas := func(app string, n int32, change func(*corev1.PodSpec, *metav1.LabelSelector)) func() string {
			of := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
			pod := newPodSpec()
			pod.Tolerations, pod.SchedulerName = nil, spec
			pod.Containers[0].Resources.Limits = corev1.ResourceList{slot: resource.MustParse("1")}
			change(&pod, of)
			home.create(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: t.namespace, Name: app}, Spec: appsv1.ReplicaSetSpec{
				Replicas: ptr.To(n), Selector: of, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: of.MatchLabels}, Spec: pod},
			}})
			return func() string {
				on := map[string]int{}
				for _, remote := range eu.remotePodsOf(t.cb) {
					if remote.Labels["app"] == app {
						on[remote.Spec.NodeName]++
					}
				}
				return fmt.Sprintf("%d on a, %d on another, %d in zone b, %d nowhere", on[hosts[0]], on[hosts[1]], on[hosts[2]], on[""])
			}
		}
		apart := replicas("apart", 4, func(pod *corev1.PodSpec, of *metav1.LabelSelector) {
			pod.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{TopologyKey: corev1.LabelHostname, LabelSelector: of}}}}
		})
		Eventually(apart).WithTimeout(time.Minute).Should(Equal("1 on a, 1 on another, 1 in zone b, 1 nowhere"))
		Eventually(func() (says []string) {
			var local corev1.PodList
			Expect(home.List(ctx, &local, client.InNamespace(t.namespace))).To(Succeed())
			for _, pod := range local.Items {
				for _, c := range pod.Status.Conditions {
					if c.Type == v1alpha1.PodOffloaded && strings.Contains(c.Message, "anti-affinity") {
						says = append(says, c.Reason)
					}
				}
			}
			return says
		}).Should(Equal([]string{v1alpha1.ReasonUnschedulable}), "the fourth one says what it waits for")

		spread := replicas("spread", 6, func(pod *corev1.PodSpec, of *metav1.LabelSelector) {
			pod.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{
				{MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: of}}
		})
		Eventually(spread).WithTimeout(time.Minute).Should(And(ContainSubstring("3 in zone b"), ContainSubstring("0 nowhere")))

		By("running one beside a pod of another namespace, on a node that it prefers")
		others := home.offloadNew(selecting(labelSpec, spec), podsGo(v1alpha1.PodsRemote))
		t.sweepAfterwards(others)
		home.offloadingIsReady(others)
		home.takesPods(others)
		ofTypeB := &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 100, Preference: corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}}}}}}
		withSlot := func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Resources.Limits = corev1.ResourceList{slot: resource.MustParse("1")}
			pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: ofTypeB.DeepCopy()}
		}
		db := eu.remotePod(t.cb, home.runPod(t.cb, others, labelled("app", "db"), withSlot))
		Eventually(now(eu, db)).Should(HaveField("Spec.NodeName", hosts[2]))
		beside := eu.remotePod(t.cb, home.runPod(t.cb, t.namespace, withSlot, func(pod *corev1.Pod) {
			pod.Spec.Affinity.PodAffinity = &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: corev1.LabelHostname, Namespaces: []string{others}, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}}}}
		}))
		Expect(beside.Spec.Affinity.NodeAffinity).To(Equal(ofTypeB))
		Expect(beside.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution).To(ConsistOf(And(
			HaveField("TopologyKey", corev1.LabelHostname), HaveField("Namespaces", ConsistOf(remoteName(others))))))
		Eventually(now(eu, beside)).Should(HaveField("Spec.NodeName", hosts[2]))
	})
})
