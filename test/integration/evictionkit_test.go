package integration

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

func labelled(key, value string) podOption {
	return func(pod *corev1.Pod) { pod.Labels = map[string]string{key: value} }
}

// nameOf returns how messages name pods.
func nameOf(pods ...*corev1.Pod) string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, client.ObjectKeyFromObject(pod).String())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// guard creates a budget that allows no eviction of the pods with that app, and waits until it has counted
// them.
func (c *controlPlane) guard(namespace, app string, pods int32) *policyv1.PodDisruptionBudget {
	GinkgoHelper()
	budget := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: unique("budget")},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: ptr.To(intstr.FromInt32(pods)),
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	}
	c.create(budget)
	Eventually(now(c, budget)).Should(And(HaveField("Status.CurrentHealthy", pods), HaveField("Status.DesiredHealthy", pods)),
		"the budget should count the pods")
	return budget
}

// end ends a pod that is being deleted, as a kubelet does.
func (c *controlPlane) end(pod *corev1.Pod) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(c.Delete(ctx, pod, atOnce))).To(Succeed())
}

// holdObject delays the deletion of an object until releaseObject or the end of the spec.
func (c *controlPlane) holdObject(object client.Object) {
	GinkgoHelper()
	change(c, object, func(object client.Object) { controllerutil.AddFinalizer(object, holdFinalizer) })
	DeferCleanup(func() { c.releaseObject(object) })
}

// releaseObject allows the deletion again, if the object still exists.
func (c *controlPlane) releaseObject(object client.Object) {
	GinkgoHelper()
	if c.fetching(object)() == nil {
		change(c, object, func(object client.Object) { controllerutil.RemoveFinalizer(object, holdFinalizer) })
	}
}

// newTeamThrough creates a team whose binding has that kubeconfig for eu.
func newTeamThrough(kubeconfig []byte) team {
	GinkgoHelper()
	t := team{spec: unique("spec")}
	t.cb = home.bindWith(kubeconfig, "through", t.spec)
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
