package integration

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/test/clusters"
)

var _ = Describe("Replicas that share the bindings", slow, func() {
	It("work for a third each, and take over from one that ends and from one that is cut off", func() {
		const bindings = 6
		// It has Kubernetes' default grace for nodes: none may stop being Ready.
		consumer := newControlPlane(clusters.Options{Name: "sharing", Components: []clusters.Component{clusters.KubeControllerManager}})
		consumer.install("config/shard")
		a, b, c := startReplica(consumer, "a"), startReplica(consumer, "b"), startReplica(consumer, "c")
		Eventually(consumer.list(&coordinationv1.LeaseList{}, client.HasLabels{v1alpha1.LabelReplica})).Should(HaveLen(3))

		spec := unique("spec")
		var all []*v1alpha1.ClusterBinding
		for i := range bindings {
			all = append(all, consumer.bindWith(eu.providerKubeconfig(), "shared", spec, withLabels(region, strconv.Itoa(i))))
		}
		consumer.bindingIsReady(all...)
		Eventually(consumer.shares).Should(HaveEach(HaveLen(2)))
		Expect(slices.Sorted(maps.Keys(consumer.shares()))).To(Equal([]string{"a", "b", "c"}))
		eachWorksForItsOwn(consumer, a, b, c)
		consumer.refusesOtherLeases()

		By("offloading a namespace to each")
		var teams []string
		for i := range bindings {
			teams = append(teams, consumer.offloadNew(selecting(labelSpec, spec, region, strconv.Itoa(i))))
		}
		consumer.offloadingIsReady(teams...)

		By("taking back what has pods, by a replica that watches a third of them")
		var locals, remotes []*corev1.Pod
		for i, team := range teams {
			local, remote := consumer.runsPodIn(all[i], team)
			locals, remotes = append(locals, local), append(remotes, remote)
		}
		for i, team := range teams {
			consumer.drop(newOffloading(team, nil))
			Eventually(consumer.leavingPods(all[i], team)).Should(And(HaveField("Count", HaveValue(BeEquivalentTo(1))), HaveField("Names", ConsistOf(nameOf(locals[i])))))
			Eventually(consumer.offloading(team)).Should(HaveField("Conditions", ContainElement(isFalse(v1alpha1.ReasonEvictingPods, "1 pod ("+nameOf(locals[i])+")"))))
			Eventually(now(eu, remotes[i])).Should(going, "it is evicted")
		}
		for i, team := range teams {
			Expect(eu.namespace(team+"-sharing")()).To(HaveField("DeletionTimestamp", BeNil()), "a pod is there still")
			eu.end(remotes[i])
			Eventually(consumer.fetching(newOffloading(team, nil))).Should(absent)
			Expect(eu.has(team+"-sharing")()).To(BeFalse(), "the finalizer went before the remote namespace")
			Eventually(consumer.leavingPods(all[i], team)).Should(BeNil(), "nobody waits for it any more")
		}

		By("offloading a namespace to each, with a pod, that stay")
		teams, remotes = nil, nil
		var stays []func() (string, error)
		for i := range bindings {
			team := consumer.offloadNew(selecting(labelSpec, spec, region, strconv.Itoa(i)))
			consumer.offloadingIsReady(team)
			local, remote := consumer.runsPodIn(all[i], team)
			namespace, err := eu.namespace(team + "-sharing")()
			Expect(err).NotTo(HaveOccurred())
			teams, remotes = append(teams, team), append(remotes, remote)
			stays = append(stays, version(consumer, local), version(eu, remote), version(eu, namespace))
		}
		before := settled(stays)

		By("ending one of three")
		began := time.Now()
		b.stop()
		Eventually(consumer.shares).Should(And(HaveLen(2), HaveEach(HaveLen(3))))
		AddReportEntry("after one has ended, its bindings are those of others within", time.Since(began).String())
		eachWorksForItsOwn(consumer, a, c)
		Expect(consumer.list(&coordinationv1.LeaseList{}, client.HasLabels{v1alpha1.LabelReplica})()).To(HaveLen(2))

		By("cutting one of two off from everything")
		began = time.Now()
		c.cut.Store(true)
		Eventually(consumer.shares).WithTimeout(patience).Should(And(HaveLen(1), HaveKeyWithValue("a", HaveLen(bindings))))
		AddReportEntry("after one was cut off, its bindings are those of others within", time.Since(began).String())
		c.cancel()
		Eventually(c.done).WithTimeout(patience).Should(Receive())
		eachWorksForItsOwn(consumer, a)
		consumer.bindingIsReady(all...)
		Expect(settled(stays)).To(Equal(before), "nothing that is as it should be is written when it is taken over")

		By("one that comes taking half")
		d := startReplica(consumer, "d")
		Eventually(consumer.shares).Should(And(HaveKeyWithValue("a", HaveLen(3)), HaveKeyWithValue("d", HaveLen(3))))
		eachWorksForItsOwn(consumer, a, d)
		consumer.offloadingIsReady(teams...)

		By("one that cannot reach the consumer leaving the providers to the other")
		began = time.Now()
		d.lost.Store(true)
		Eventually(consumer.shares).Should(And(HaveLen(1), HaveKeyWithValue("a", HaveLen(bindings))))
		AddReportEntry("after one has lost the consumer, its bindings are those of others within", time.Since(began).String())
		eachWorksForItsOwn(consumer, a, d)
		d.lost.Store(false)
		Eventually(consumer.shares).Should(And(HaveKeyWithValue("a", HaveLen(3)), HaveKeyWithValue("d", HaveLen(3))), "it is back")
		eachWorksForItsOwn(consumer, a, d)

		By("unbinding")
		Expect(settled(stays)).To(Equal(before))
		for i, team := range teams {
			consumer.drop(newOffloading(team, nil))
			consumer.drop(all[i])
			Eventually(now(eu, remotes[i])).Should(going, "it is evicted")
			eu.end(remotes[i])
		}
		for _, cb := range all {
			Eventually(consumer.fetching(cb)).Should(absent)
		}
		d.stop()
		a.stop()
	})
})

// sharingReplica is a manager that shares the bindings with others.
type sharingReplica struct {
	*managerRun
	name string
	// cut means that it reaches no cluster any more, and lost that it does not reach the consumer.
	cut, lost atomic.Bool

	mu sync.Mutex
	// asked counts the requests to each binding's provider.
	asked map[string]int
}

func startReplica(consumer *controlPlane, name string) *sharingReplica {
	GinkgoHelper()
	r := &sharingReplica{name: name, asked: map[string]int{}}
	r.managerRun = startManager(consumer, manager.Options{
		ConsumerID: "sharing", Shard: true,
		WrapTransport: func(rt http.RoundTripper) http.RoundTripper { return r.transport("", rt) },
		Fleet:         fleet.Options{Identity: name, WrapTransport: r.transport, LeaseDuration: fleet.DefaultLeaseDuration},
	})
	return r
}

func (r *sharingReplica) transport(binding string, rt http.RoundTripper) http.RoundTripper {
	return roundTrip(func(request *http.Request) (*http.Response, error) {
		if r.cut.Load() || binding == "" && r.lost.Load() {
			return nil, errors.New("cut off by the spec")
		}
		r.mu.Lock()
		r.asked[binding]++
		r.mu.Unlock()
		return rt.RoundTrip(request)
	})
}

func (r *sharingReplica) requests() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.asked)
}

// shares returns the bindings that each manager holds, according to their statuses.
func (c *controlPlane) shares() map[string][]string {
	var list v1alpha1.ClusterBindingList
	if err := c.List(ctx, &list); err != nil {
		return nil
	}
	shares := map[string][]string{}
	for i := range list.Items {
		holder := list.Items[i].Status.Holder.Identity
		shares[holder] = append(shares[holder], list.Items[i].Name)
	}
	return shares
}

// eachWorksForItsOwn fails if a replica sends a request to the provider of another replica's binding, or if
// no replica sends any to a provider. Each provider gets a probe every half second.
func eachWorksForItsOwn(consumer *controlPlane, replicas ...*sharingReplica) {
	GinkgoHelper()
	shares := consumer.shares()
	for _, r := range replicas {
		Eventually(func(g Gomega) {
			before := r.requests()
			asked := func() []string {
				var bindings []string
				for binding, count := range r.requests() {
					if binding != "" && count > before[binding] {
						bindings = append(bindings, binding)
					}
				}
				return bindings
			}
			g.Eventually(asked).WithTimeout(calm).Should(ConsistOf(shares[r.name]), "%s asks for", r.name)
			g.Consistently(asked).Should(ConsistOf(shares[r.name]), "%s asks for", r.name)
		}).Should(Succeed())
	}
	Expect(consumer.shares()).To(Equal(shares))
}

// leavingPods returns what a NamespaceMap counts for a local namespace, or nil.
func (c *controlPlane) leavingPods(cb *v1alpha1.ClusterBinding, namespace string) func() (*v1alpha1.LeavingPods, error) {
	return func() (*v1alpha1.LeavingPods, error) {
		nsm := &v1alpha1.NamespaceMap{}
		if err := c.Get(ctx, client.ObjectKey{Name: cb.Name}, nsm); err != nil {
			return nil, err
		}
		for i := range nsm.Status.LeavingPods {
			if nsm.Status.LeavingPods[i].Namespace == namespace {
				return &nsm.Status.LeavingPods[i], nil
			}
		}
		return nil, nil
	}
}

// runsPodIn runs a pod on the virtual node of a binding and in its provider eu.
func (c *controlPlane) runsPodIn(cb *v1alpha1.ClusterBinding, namespace string) (local, remote *corev1.Pod) {
	GinkgoHelper()
	c.takesPods(namespace)
	eu.takesPods(namespace + "-sharing")
	local = c.runPod(cb, namespace)
	remote = eu.remotePod(cb, local)
	eu.schedule(remote) // It is not removed before its kubelet says so.
	eu.setPodStatus(remote, corev1.PodRunning)
	Eventually(c.podPhase(local)).Should(Equal(corev1.PodRunning))
	return local, remote
}

// version reads the UID and the version of an object.
func version[T client.Object](c *controlPlane, object T) func() (string, error) {
	return func() (string, error) {
		found, err := now(c, object)()
		return fmt.Sprint(client.ObjectKeyFromObject(object), found.GetUID(), found.GetResourceVersion()), err
	}
}

// settled reads versions until they have stayed the same for a while.
func settled(versions []func() (string, error)) []string {
	GinkgoHelper()
	read := func(g Gomega) []string {
		var all []string
		for _, version := range versions {
			said, err := version()
			g.Expect(err).NotTo(HaveOccurred())
			all = append(all, said)
		}
		return all
	}
	var last []string
	Eventually(func(g Gomega) {
		last = read(g)
		g.Consistently(read).Should(Equal(last))
	}).Should(Succeed(), "nothing should be written any more")
	return last
}

// refusesOtherLeases fails if the manager's account may change a Lease in its namespace that is not a
// replica's.
func (c *controlPlane) refusesOtherLeases() {
	GinkgoHelper()
	config, err := clientcmd.RESTConfigFromKubeConfig(c.kubeconfig(manager.DefaultNamespace, "spillway-manager"))
	Expect(err).NotTo(HaveOccurred())
	thief, err := client.New(config, client.Options{Scheme: manager.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	others := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: manager.DefaultNamespace, Name: unique("others")}}
	Expect(thief.Create(ctx, others.DeepCopy())).To(MatchError(ContainSubstring("the manager may write no other")))
	c.create(others.DeepCopy())
	Expect(thief.Delete(ctx, others.DeepCopy())).To(MatchError(ContainSubstring("the manager may write no other")))
	others.Namespace = "default"
	Expect(thief.Create(ctx, others.DeepCopy())).To(MatchError(ContainSubstring("forbidden")))
}
