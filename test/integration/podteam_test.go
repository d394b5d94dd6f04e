package integration

import (
	"reflect"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// team is a namespace of home that is offloaded to eu, with its binding.
type team struct {
	cb *v1alpha1.ClusterBinding
	// spec is the value of labelSpec that the offloading selects.
	spec string
	// namespace is the local namespace, and remote the remote one.
	namespace, remote string
}

// newTeam creates a team. Its pods are deleted when the specs that share it end.
func newTeam() team {
	GinkgoHelper()
	return newTeamWith(eu.providerKubeconfig())
}

// newTeamWith creates a team whose binding has that kubeconfig.
func newTeamWith(kubeconfig []byte, options ...bindingOption) team {
	GinkgoHelper()
	t := team{spec: unique("spec")}
	t.cb = home.bindWith(kubeconfig, eu.Name, t.spec, options...)
	t.namespace = home.newNamespace()
	home.offload(t.namespace, selecting(labelSpec, t.spec))
	t.remote = remoteName(t.namespace)
	home.bindingIsReady(t.cb)
	home.offloadingIsReady(t.namespace)
	home.takesPods(t.namespace)
	eu.takesPods(t.remote)
	t.sweepAfterwards(t.namespace)
	return t
}

// takesPods waits until a namespace has its ServiceAccount. Without it no pod is admitted.
func (c *controlPlane) takesPods(namespace string) {
	GinkgoHelper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	Eventually(c.fetching(account)).Should(Succeed(), "namespace %s should have its ServiceAccount", namespace)
}

// sweepAfterwards removes the pods of a local namespace in the end, and their remote pods in eu. No kubelet
// does it, and the deletion of the binding would wait for them.
func (t team) sweepAfterwards(namespace string) {
	DeferCleanup(func() {
		Eventually(func(g Gomega) {
			var local, remote corev1.PodList
			g.Expect(home.List(ctx, &local, client.InNamespace(namespace))).To(Succeed())
			g.Expect(eu.List(ctx, &remote, client.MatchingLabels{v1alpha1.LabelBinding: t.cb.Spec.ClusterID})).To(Succeed())
			for i := range local.Items {
				g.Expect(client.IgnoreNotFound(home.Delete(ctx, &local.Items[i], atOnce))).To(Succeed())
			}
			left := len(local.Items)
			for i := range remote.Items {
				if remote.Items[i].Annotations[v1alpha1.AnnotationLocalNamespace] == namespace {
					left++
					g.Expect(client.IgnoreNotFound(eu.Delete(ctx, &remote.Items[i], atOnce))).To(Succeed())
				}
			}
			g.Expect(left).To(BeZero())
		}).Should(Succeed(), "the pods of %s should go", namespace)
	})
}

// atOnce sets no grace period, as a kubelet does when a pod has ended.
var atOnce = &client.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}

// run creates a pod on the virtual node.
func (t team) run(options ...podOption) *corev1.Pod {
	GinkgoHelper()
	return home.runPod(t.cb, t.namespace, options...)
}

// running creates a pod, and plays the remote pod's kubelet until both run.
func (t team) running(options ...podOption) (local, remote *corev1.Pod) {
	GinkgoHelper()
	local = t.run(options...)
	remote = eu.remotePod(t.cb, local)
	eu.schedule(remote)
	eu.setPodStatus(remote, corev1.PodRunning, func(status *corev1.PodStatus) {
		for i := range status.ContainerStatuses { // Without resources, a pod cannot be resized.
			status.ContainerStatuses[i].Resources = remote.Spec.Containers[i].Resources.DeepCopy()
		}
	})
	Eventually(home.podPhase(local)).Should(Equal(corev1.PodRunning), "the local pod should run as the remote one does")
	return local, remote
}

// staysHome asserts what a pod's owner sees while the pod is not sent.
func (t team) staysHome(pod *corev1.Pod, reason string, texts ...string) {
	GinkgoHelper()
	Eventually(home.offloaded(pod)).Should(isFalse(reason, texts...), "the pod should say why it is not sent")
	Eventually(home.eventsAbout(pod)).Should(ContainElement(And(HaveField("Reason", reason), noting(texts...))), "its owner should be told")
	Expect(eu.standIns(t.cb, pod)()).To(BeEmpty())
}

// noting matches an event whose note contains each text.
func noting(texts ...string) types.GomegaMatcher {
	matchers := []types.GomegaMatcher{}
	for _, text := range texts {
		matchers = append(matchers, HaveField("Note", ContainSubstring(text)))
	}
	return And(matchers...)
}

// goesOn waits until a delayed pod is in the provider and reports so.
func (t team) goesOn(pod *corev1.Pod) *corev1.Pod {
	GinkgoHelper()
	remote := eu.remotePod(t.cb, pod)
	Eventually(home.offloaded(pod)).Should(isTrue(v1alpha1.ReasonOffloaded), "the pod should say that it is sent")
	return remote
}

// passes creates a pod, and waits until it is in the provider with its ConfigMap. By then the manager has
// begun everything of these kinds that was due before.
func (t team) passes() {
	GinkgoHelper()
	settings := newConfigMap(t.namespace, unique("witness"), "1")
	home.make(settings)
	eu.remotePod(t.cb, t.run(withConfigMap(settings.GetName(), false)))
}

// standIns returns the remote pods of a local one.
func (c *controlPlane) standIns(cb *v1alpha1.ClusterBinding, local *corev1.Pod) func() ([]*corev1.Pod, error) {
	return func() ([]*corev1.Pod, error) {
		var pods corev1.PodList
		if err := c.List(ctx, &pods, client.MatchingLabels{v1alpha1.LabelBinding: cb.Spec.ClusterID}); err != nil {
			return nil, err
		}
		var all []*corev1.Pod
		for i := range pods.Items {
			if pods.Items[i].Annotations[v1alpha1.AnnotationLocalUID] == string(local.UID) {
				all = append(all, &pods.Items[i])
			}
		}
		return all, nil
	}
}

// offloaded reads the pod's condition Offloaded.
func (c *controlPlane) offloaded(pod *corev1.Pod) func() (metav1.Condition, error) {
	return func() (metav1.Condition, error) {
		current, err := now(c, pod)()
		if err != nil {
			return metav1.Condition{}, err
		}
		return find(asConditions(current.Status.Conditions), v1alpha1.PodOffloaded)
	}
}

// asConditions converts the conditions of a pod into ordinary ones.
func asConditions(conditions []corev1.PodCondition) []metav1.Condition {
	all := make([]metav1.Condition, 0, len(conditions))
	for _, c := range conditions {
		all = append(all, metav1.Condition{Type: string(c.Type), Status: metav1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message})
	}
	return all
}

// now reads the current version of an object.
func now[T client.Object](c *controlPlane, object T) func() (T, error) {
	return func() (T, error) {
		found := reflect.New(reflect.TypeOf(object).Elem()).Interface().(T)
		return found, c.Get(ctx, client.ObjectKeyFromObject(object), found)
	}
}

// in returns an object of the same kind and name in another namespace, without other fields.
func in[T client.Object](namespace string, object T) T {
	there := reflect.New(reflect.TypeOf(object).Elem()).Interface().(T)
	there.SetNamespace(namespace)
	there.SetName(object.GetName())
	return there
}
