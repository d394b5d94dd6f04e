package integration

import (
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/manager"
)

// Usually, a newer manager meets an older provider.yaml.
var _ = Describe("A provider that does not let everything be read", Ordered, func() {
	var (
		t     team
		role  string
		read  = []string{"get", "list", "watch", "create", "patch", "delete"}
		blind = []string{"get", "create", "patch", "delete"}
		late  client.Object
	)

	BeforeAll(func() {
		kubeconfig := eu.lacking("configmaps", "list", "watch")
		parsed, err := clientcmd.Load(kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		role = strings.TrimPrefix(parsed.Contexts[parsed.CurrentContext].AuthInfo, parsed.CurrentContext+"-")
		t = newTeamWith(kubeconfig)
	})

	It("says so, and takes all pods that need nothing of that kind", func() {
		Expect(home.condition(t.cb, v1alpha1.BindingLimited)()).To(isTrue(v1alpha1.ReasonRightsMissing, "list and watch configmaps", "provider.yaml"))
		Expect(home.condition(t.cb, v1alpha1.BindingConnected)()).To(isTrue(v1alpha1.ReasonConnected))
		secret := newSecret(t.namespace, unique("secret"), "1")
		home.make(secret)
		t.running(withSecret(secret.GetName(), false))
		Expect(eu.value(in(t.remote, secret))()).To(Equal("1"))
	})

	It("has a pod wait that does, and say what for", func() {
		settings := newConfigMap(t.namespace, unique("settings"), "1")
		home.make(settings)
		waiting := t.run(withConfigMap(settings.GetName(), false))
		t.staysHome(waiting, v1alpha1.ReasonRightsMissing, "ConfigMap "+t.namespace+"/"+settings.GetName()+" cannot be sent",
			"provider "+t.cb.Spec.ClusterID+" does not let Spillway list and watch configmaps")
		Expect(eu.fetching(in(t.remote, settings))()).To(absent, "nothing is written that could not be followed")
	})

	It("goes on by itself when the right is given", slow, func() {
		late = newConfigMap(t.namespace, unique("settings"), "1")
		home.make(late)
		waiting := t.run(withConfigMap(late.GetName(), false))
		t.staysHome(waiting, v1alpha1.ReasonRightsMissing)
		eu.grant(role, "configmaps", read...)
		t.goesOn(waiting)
		Expect(eu.value(in(t.remote, late))()).To(Equal("1"))
		Eventually(func() (*v1alpha1.ClusterBinding, error) { return home.binding(t.cb.Name) }).Should(
			HaveField("Status.Conditions", Not(ContainElement(HaveField("Type", v1alpha1.BindingLimited)))), "nothing is missing any more")
	})

	It("loses nothing when a right is missing at the next start", slow, func() {
		_, remote := t.running(withConfigMap(late.GetName(), false))
		running.stop()
		eu.grant(role, "configmaps", blind...)
		running = startManager(home, manager.Options{ConsumerID: homeID})
		Eventually(home.condition(t.cb, v1alpha1.BindingLimited)).Should(isTrue(v1alpha1.ReasonRightsMissing, "list and watch configmaps"))
		change(home, late.(*corev1.ConfigMap), func(settings *corev1.ConfigMap) { settings.Data = map[string]string{"key": "2"} })
		Consistently(func(g Gomega) {
			g.Expect(now(eu, remote)()).To(And(HaveField("UID", remote.UID), HaveField("DeletionTimestamp", BeNil())), "the pod runs on")
			g.Expect(eu.value(in(t.remote, late))()).To(Equal("1"), "what it needs is left as it is")
		}).Should(Succeed())
		Expect(home.condition(t.cb, v1alpha1.BindingReady)()).To(isTrue(v1alpha1.ReasonReady))

		eu.grant(role, "configmaps", read...)
		Eventually(eu.value(in(t.remote, late))).Should(Equal("2"), "what has changed meanwhile is sent")
	})
})

// grant sets the rights of a role in the provider on a resource.
func (c *controlPlane) grant(role, resource string, verbs ...string) {
	GinkgoHelper()
	change(c, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role}}, func(role *rbacv1.ClusterRole) {
		for i, rule := range role.Rules {
			if slices.Contains(rule.Resources, resource) {
				role.Rules[i].Verbs = verbs
			}
		}
	})
}
