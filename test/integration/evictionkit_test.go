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

// nameOf is how messages name pods.
func nameOf(pods ...*corev1.Pod) string {
	names := make([]string, 0, len(pods))
	for _, pod := range pods {
		names = append(names, client.ObjectKeyFromObject(pod).String())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// guard makes a budget that lets none of the pods with that app go, and waits
// until it has counted them.
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

// end says of a pod that is going that it has ended, as a kubelet would.
func (c *controlPlane) end(pod *corev1.Pod) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(c.Delete(ctx, pod, atOnce))).To(Succeed())
}

// holdObject keeps an object from going, until releaseObject or the end of the spec.
func (c *controlPlane) holdObject(object client.Object) {
	GinkgoHelper()
	change(c, object, func(object client.Object) { controllerutil.AddFinalizer(object, holdFinalizer) })
	DeferCleanup(func() { c.releaseObject(object) })
}

// releaseObject lets it go, if it is still there.
func (c *controlPlane) releaseObject(object client.Object) {
	GinkgoHelper()
	if c.fetching(object)() == nil {
		change(c, object, func(object client.Object) { controllerutil.RemoveFinalizer(object, holdFinalizer) })
	}
}

// newTeamThrough makes a team whose binding has that kubeconfig for eu.
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
