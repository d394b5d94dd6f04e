package integration

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/testing/builder"
	"github.com/spillway-io/spillway/test/clusters"
)

var _ = Describe("spec.overflow", slow, func() {
	It("fills the tiers in order, with one write for each tier that a pod overflows to, and empties the last one first", func() {
		o := newOverflow(unique("spec"), "2")
		o.set.Spec.Replicas = ptr.To[int32](6)
		home.create(o.set)

		By("filling the consumer, then eu, then us")
		Eventually(o.placed).WithTimeout(2 * time.Minute).Should(Equal("1 here, 2 in eu, 2 in us, 1 nowhere"))
		for _, pod := range o.pods() {
			opened := map[string]int{o.local: 0, o.eu.VirtualNodeName(): 1, o.us.VirtualNodeName(): 2, "": 2}[pod.Spec.NodeName]
			Expect(pod.Generation).To(BeEquivalentTo(1+opened), "each write of tolerations makes a generation, of %s on %q", pod.Name, pod.Spec.NodeName)
			Expect(pod.Annotations[v1alpha1.AnnotationOverflow]).To(MatchRegexp(fmt.Sprintf(`^([12]=[^,]+(,|$)){%d}$`, opened)))
		}
		Eventually(home.offloading(o.team)).Should(And(
			HaveField("Overflow", Equal([]v1alpha1.OverflowTierStatus{{}, {Clusters: []string{o.eu.Spec.ClusterID}}, {Clusters: []string{o.us.Spec.ClusterID}}})),
			HaveField("Conditions", ContainElements(
				And(HaveField("Type", v1alpha1.OffloadingOverflow), HaveField("Reason", v1alpha1.ReasonTiersReady)),
				And(HaveField("Type", v1alpha1.OffloadingPodsFit), HaveField("Message", ContainSubstring("1 pod ("+o.team+"/")))))))

		By("starting the manager again, which writes nothing")
		var waits corev1.Pod
		for _, pod := range o.pods() {
			if pod.Spec.NodeName == "" {
				waits = pod
			}
		}
		fits := HaveField("Reason", v1alpha1.ReasonFitsNoTier)
		Eventually(home.eventsAbout(&waits)).Should(ContainElement(fits))
		before := o.opened()
		restart(fleet.Options{})
		home.passes(selecting(labelSpec, o.set.Name))
		Expect(o.opened()).To(Equal(before))
		var told []eventsv1.Event
		Expect(home.eventsAbout(&waits)()).To(ContainElement(fits, &told))
		Expect(told).To(HaveLen(1), "its owner knows already")

		By("running the pods, as kubelets do")
		Eventually(o.running).Should(Equal("1 here at no cost, 2 in eu at cost -100, 2 in us at cost -200"))

		By("scaling in")
		o.scale(5)
		Eventually(o.placed).Should(Equal("1 here, 2 in eu, 2 in us, 0 nowhere"), "the pod that waits goes first")
		o.scale(3)
		Eventually(o.placed).Should(Equal("1 here, 2 in eu, 0 in us, 0 nowhere"))
		o.scale(1)
		Eventually(o.placed).Should(Equal("1 here, 0 in eu, 0 in us, 0 nowhere"))
		Eventually(home.offloading(o.team)).Should(HaveField("Conditions", Not(ContainElement(HaveField("Type", v1alpha1.OffloadingPodsFit)))))
	})
})

// overflow is a namespace with three tiers, and a ReplicaSet of pods that each need a slot. Only the nodes of this
// spec have slots: one here, and some in eu and us. A real scheduler places the pods.
type overflow struct {
	team, local string
	eu, us      *v1alpha1.ClusterBinding
	set         *appsv1.ReplicaSet
}

func newOverflow(spec, slots string, changes ...func(*v1alpha1.NamespaceOffloading)) *overflow {
	GinkgoHelper()
	slot := corev1.ResourceName("example.com/" + spec)
	eu.create(withSlots(spec, slots))
	us.create(withSlots(spec, slots))
	local := withSlots(spec, "1")
	home.create(local)
	home.keepsAlive(local.Name)
	o := &overflow{local: local.Name, eu: home.bind(eu, spec, withLabels(region, "first")), us: home.bind(us, spec, withLabels(region, "second"))}
	home.bindingIsReady(o.eu, o.us)
	for _, cb := range []*v1alpha1.ClusterBinding{o.eu, o.us} {
		Eventually(func() *corev1.Node { return home.virtualNode(cb) }).Should(HaveField("Status.Allocatable", HaveKey(slot)))
	}
	second := &metav1.Duration{Duration: time.Second}
	o.team = home.offloadNew(nil, func(nso *v1alpha1.NamespaceOffloading) {
		nso.Spec.Overflow = []v1alpha1.OverflowTier{{Local: true}}
		for _, name := range []string{"first", "second"} {
			tier := builder.Tier(selecting(labelSpec, spec, region, name).NodeSelectorTerms[0].MatchExpressions)
			tier.After = second
			nso.Spec.Overflow = append(nso.Spec.Overflow, tier)
		}
		for _, change := range changes {
			change(nso)
		}
	})
	home.offloadingIsReady(o.team)
	home.takesPods(o.team)
	home.runScheduler(spec)

	labels := map[string]string{"app": spec}
	pod := newPodSpec()
	pod.Tolerations, pod.SchedulerName = nil, spec
	pod.Containers[0].Resources = corev1.ResourceRequirements{Limits: corev1.ResourceList{slot: resource.MustParse("1")}}
	o.set = &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: o.team, Name: spec}, Spec: appsv1.ReplicaSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
	}}
	DeferCleanup(o.sweep)
	return o
}

// withSlots returns a node with slots for the pods of a spec.
func withSlots(spec, slots string) *corev1.Node {
	node, slot := providerNode("4", "8Gi"), corev1.ResourceName("example.com/"+spec)
	node.Status.Capacity[slot], node.Status.Allocatable[slot] = resource.MustParse(slots), resource.MustParse(slots)
	return node
}

// pods returns those that are not being deleted.
func (o *overflow) pods() []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(home.List(ctx, &pods, client.InNamespace(o.team))).To(Succeed())
	var live []corev1.Pod
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp.IsZero() {
			live = append(live, pod)
		}
	}
	return live
}

// opened returns the generation of each pod, and which tiers were opened for it.
func (o *overflow) opened() map[string]string {
	GinkgoHelper()
	opened := map[string]string{}
	for _, pod := range o.pods() {
		opened[pod.Name] = fmt.Sprint(pod.Generation, pod.Annotations[v1alpha1.AnnotationOverflow])
	}
	return opened
}

func (o *overflow) placed() string {
	GinkgoHelper()
	on := map[string]int{}
	for _, pod := range o.pods() {
		on[pod.Spec.NodeName]++
	}
	return fmt.Sprintf("%d here, %d in eu, %d in us, %d nowhere", on[o.local], on[o.eu.VirtualNodeName()], on[o.us.VirtualNodeName()], on[""])
}

// running plays the kubelets of all nodes, and says where pods are Ready at which deletion cost.
func (o *overflow) running() string {
	GinkgoHelper()
	ready := map[string]int{}
	for _, pod := range o.pods() {
		switch {
		case pod.Status.Phase == corev1.PodRunning:
			ready[pod.Spec.NodeName+pod.Annotations[corev1.PodDeletionCost]]++
		case pod.Spec.NodeName == o.local:
			home.setPodStatus(&pod, corev1.PodRunning, scheduled)
		}
	}
	for provider, cb := range map[*controlPlane]*v1alpha1.ClusterBinding{eu: o.eu, us: o.us} {
		for _, pod := range provider.remotePodsOf(cb) {
			if pod.Spec.NodeName == "" {
				provider.schedule(&pod)
			}
			if pod.Status.Phase != corev1.PodRunning {
				provider.setPodStatus(&pod, corev1.PodRunning, scheduled)
			}
		}
	}
	return fmt.Sprintf("%d here at no cost, %d in eu at cost -100, %d in us at cost -200",
		ready[o.local], ready[o.eu.VirtualNodeName()+"-100"], ready[o.us.VirtualNodeName()+"-200"])
}

func scheduled(status *corev1.PodStatus) {
	status.Conditions = append(status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue})
}

func (o *overflow) scale(replicas int32) {
	GinkgoHelper()
	change(home, o.set, func(set *appsv1.ReplicaSet) { set.Spec.Replicas = ptr.To(replicas) })
}

// sweep removes all pods, which no kubelet does.
func (o *overflow) sweep() {
	home.drop(o.set)
	Eventually(func(g Gomega) {
		var local corev1.PodList
		g.Expect(home.List(ctx, &local, client.InNamespace(o.team))).To(Succeed())
		for _, pod := range append(local.Items, append(eu.remotePodsOf(o.eu), us.remotePodsOf(o.us)...)...) {
			for _, c := range []*controlPlane{home, eu, us} {
				g.Expect(client.IgnoreNotFound(c.Delete(ctx, &pod, atOnce))).To(Succeed())
			}
		}
		g.Expect(local.Items).To(BeEmpty())
	}).Should(Succeed())
}

func (c *controlPlane) remotePodsOf(cb *v1alpha1.ClusterBinding) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(c.List(ctx, &pods, client.MatchingLabels{v1alpha1.LabelBinding: cb.Spec.ClusterID})).To(Succeed())
	return pods.Items
}

// runScheduler runs Kubernetes' scheduler until the spec ends, for the pods that name it.
func (c *controlPlane) runScheduler(name string) {
	GinkgoHelper()
	root, err := clusters.Root()
	Expect(err).NotTo(HaveOccurred())
	config := filepath.Join(GinkgoT().TempDir(), "scheduler.yaml")
	Expect(os.WriteFile(config, fmt.Appendf(nil, `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {kubeconfig: %s}
leaderElection: {leaderElect: false}
profiles: [{schedulerName: %s}]
`, c.Kubeconfig, name), 0o600)).To(Succeed())
	program := exec.CommandContext(ctx, filepath.Join(root, "bin", "kube", "kube-scheduler"), "--config="+config, "--secure-port=0")
	program.Stdout, program.Stderr = GinkgoWriter, GinkgoWriter
	Expect(program.Start()).To(Succeed())
	DeferCleanup(func() {
		Expect(program.Process.Kill()).To(Succeed())
		_ = program.Wait() // It was killed, and says so.
	})
}

// keepsAlive has a node renew its status until the spec ends. Otherwise Kubernetes would take it for dead.
func (c *controlPlane) keepsAlive(node string) {
	done := make(chan struct{})
	DeferCleanup(func() { close(done) })
	go func() {
		defer GinkgoRecover()
		for ticker := time.NewTicker(nodeGrace / 6); ; {
			select {
			case <-done:
				ticker.Stop()
				return
			case <-ticker.C:
				patch := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":"True","lastHeartbeatTime":%q}]}}`, time.Now().UTC().Format(time.RFC3339))
				alive := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}
				Expect(client.IgnoreNotFound(c.Status().Patch(ctx, alive, client.RawPatch("application/strategic-merge-patch+json", patch)))).To(Succeed())
			}
		}
	}()
}
