//go:build e2e

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// withHelm installs both charts of make chart, and uses kubectl spillway for the rest.
func (n *newcomer) withHelm() {
	const (
		namespace = "shop"
		consumer  = systemNamespace
		provider  = providerNamespace
	)
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: consumer, Name: "spillway-manager"}}

	It("installs a provider and a manager, and says that it works", func() {
		// The chart adopts what an unbound provider still has.
		n.helms("install", "spillway-provider", chart("spillway-provider"), "-n", provider, "--create-namespace", "--kube-context", "us", "--take-ownership", "--force-conflicts")
		n.helms("install", "spillway", chart("spillway"), "-n", consumer, "--create-namespace", "--wait", "--timeout", "3m")
		Expect(read(n.home, manager, &appsv1.Deployment{})()).To(HaveField("Status.ReadyReplicas", BeEquivalentTo(2)))
		Expect(n.helms("test", "spillway", "-n", consumer)).To(ContainSubstring("is active; 0 of 0 ClusterBindings are Ready"))
	})

	It("lets kubectl spillway bind, and pods run in the provider", func() {
		Expect(n.spillway("bind", "us", "--provider-context", "us")).To(MatchRegexp(`(?m)^provider: \d+ objects unchanged$`), "it is the chart's")
		Expect(n.us.mustKubectl("get", "clusterrole", "spillway-consumer", "-o", "yaml", "--show-managed-fields")).NotTo(ContainSubstring("manager: kubectl-spillway"), "Helm can upgrade it")
		n.offloads(namespace, 1)
	})

	It("uninstalls nothing while a provider is bound", func() {
		said, err := n.helm("uninstall", "spillway", "-n", consumer, "--timeout", "2m")
		Expect(err).To(HaveOccurred())
		Expect(said).To(And(ContainSubstring("namespaces are still offloaded ("+namespace+")"), ContainSubstring("clusters bound (us)"),
			ContainSubstring("kubectl delete clusterbindings --all"), ContainSubstring("helm rollback")), "it says why, and what to do")
		Expect(n.spillway("status")).To(And(ContainSubstring("us: Ready"), ContainSubstring("1 of 1 pods run")), "the manager works on")
		n.helms("rollback", "spillway", "1", "-n", consumer)
		Expect(n.helms("status", "spillway", "-n", consumer)).To(ContainSubstring("STATUS: deployed"), "it can be upgraded again")
	})

	It("leaves the kinds, and the namespaces that it was installed in", func() {
		n.spillway("unoffload", namespace)
		n.spillway("unbind", "us")
		n.helms("uninstall", "spillway", "-n", consumer, "--timeout", "2m")
		n.helms("uninstall", "spillway-provider", "-n", provider, "--kube-context", "us")
		n.home.mustKubectl("delete", "namespace", namespace)
		Eventually(n.home.everything).Should(ConsistOf(append(append([]string{}, n.before[n.home]...), "namespace/"+consumer,
			"customresourcedefinition.apiextensions.k8s.io/clusterbindings.offloading.spillway.io",
			"customresourcedefinition.apiextensions.k8s.io/namespacemaps.offloading.spillway.io",
			"customresourcedefinition.apiextensions.k8s.io/namespaceoffloadings.offloading.spillway.io")))
		Eventually(n.us.everything).Should(ConsistOf(append(append([]string{}, n.before[n.us]...), "namespace/"+provider)))
	})
}

// chart returns the path of a chart that make chart has written.
func chart(name string) string {
	GinkgoHelper()
	return filepath.Join(root(), "dist", name+"-0.0.0.tgz")
}

// helms runs Helm, which must succeed.
func (n *newcomer) helms(args ...string) string {
	GinkgoHelper()
	out, err := n.helm(args...)
	Expect(err).NotTo(HaveOccurred(), "helm %s: %s", strings.Join(args, " "), out)
	return out
}

// helm runs Helm with its own files in a folder of the test.
func (n *newcomer) helm(args ...string) (string, error) {
	GinkgoHelper()
	command := exec.CommandContext(ctx, "go", append([]string{"tool", "-modfile=go.helm.mod", "helm"}, args...)...)
	command.Dir = root()
	home := filepath.Join(directory(), "helm")
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	return n.run(command)
}
