//go:build e2e

package e2e

import (
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/e2e/testcluster"
)

// The way of somebody who has two clusters and no YAML: nothing but kubectl spillway, and
// the manager in a pod, from the image of make image.
var _ = Describe("kubectl spillway", Ordered, func() {
	const (
		namespace = "shop"
		image     = "ghcr.io/spillway-io/spillway:dev"
	)
	var (
		home, us   *testCluster
		kubeconfig string
		before     map[string][]string
	)

	spillway := func(args ...string) string {
		GinkgoHelper()
		command := exec.CommandContext(ctx, filepath.Join(root(), "bin", "kube", "kubectl"), append([]string{"spillway"}, args...)...)
		command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "PATH="+filepath.Join(root(), "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		GinkgoWriter.Printf("$ kubectl spillway %s\n%s\n", strings.Join(args, " "), out)
		Expect(err).NotTo(HaveOccurred(), "kubectl spillway %s: %s", strings.Join(args, " "), out)
		return string(out)
	}

	BeforeAll(func() {
		needReal()
		if *consumerRelease != "" {
			Skip("its clusters are of the default release: no node's kubelet may be newer than its API server")
		}
		home = newTestCluster(testcluster.Options{Name: "home", Nodes: 1, Real: true, Log: GinkgoWriter,
			Images: []string{filepath.Join(root(), "dist", "spillway.tar")}})
		us = newTestCluster(testcluster.Options{Name: "us", Nodes: 1, Log: GinkgoWriter})
		kubeconfig = twoContexts(home, us)
		before = map[string][]string{"home": home.everything(), "us": us.everything()}
	})

	It("installs the manager", func() {
		spillway("install", "--image", image)
		Expect(spillway("install", "--image", image)).NotTo(Or(ContainSubstring("created"), ContainSubstring("configured")), "a second time changes nothing")
	})

	It("binds a provider", func() {
		spillway("bind", "us", "--provider-context", "us")
		Expect(spillway("bind", "us", "--provider-context", "us")).NotTo(Or(ContainSubstring("created"), ContainSubstring("configured")), "a second time changes nothing")
	})

	It("offloads a namespace, whose pods then run in the provider", func() {
		home.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		home.create(greetingIn(namespace), passwordIn(namespace))
		spillway("offload", namespace, "--strategy", "Remote")
		home.awaitPolicy(namespace)
		home.create(newDeployment(namespace, "web", 2))
		Eventually(read(home, newDeployment(namespace, "web", 2), &appsv1.Deployment{})).Should(HaveField("Status.ReadyReplicas", BeEquivalentTo(2)))
		Expect(home.nodesOf(namespace)).To(HaveEach("spillway-us"))
	})

	It("says where everything is, and finds nothing to mend", func() {
		var pods corev1.PodList
		Expect(home.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
		Expect(spillway("status")).To(And(ContainSubstring("us: Ready"), ContainSubstring("namespace "+namespace), ContainSubstring("2 of 2 pods run")))
		Expect(spillway("explain", "-n", namespace, pods.Items[0].Name)).To(ContainSubstring("us"))
		spillway("doctor")
	})

	It("leaves nothing", func() {
		spillway("unbind", "us", "--provider-context", "us")
		spillway("uninstall", "--all")
		home.mustKubectl("delete", "namespace", namespace)
		Eventually(home.everything).Should(Equal(before["home"]), "nothing is left in the consumer")
		// What confines consumers stays in the provider: see kubectl spillway unbind --help.
		Eventually(us.everything).Should(HaveEach(Or(BeElementOf(before["us"]),
			Equal("namespace/spillway-provider"), HavePrefix("validatingadmissionpolicy"))), "no right and no remote namespace is left in the provider")
	})
})

// twoContexts makes a kubeconfig with a context for each cluster, the first of which is
// current. The second is reached at an address that containers of the first reach, too.
func twoContexts(first, second *testCluster) string {
	GinkgoHelper()
	reach, ok := first.Cluster.(interface {
		Reach(server string) (netip.AddrPort, error)
	})
	if !ok {
		Skip("containers of a cluster of kind do not reach another one at 127.0.0.1")
	}
	address, err := reach.Reach(second.Config().Host)
	Expect(err).NotTo(HaveOccurred())
	merged, err := clientcmd.LoadFromFile(first.Kubeconfig())
	Expect(err).NotTo(HaveOccurred())
	other, err := clientcmd.LoadFromFile(second.Kubeconfig())
	Expect(err).NotTo(HaveOccurred())
	merged.Contexts[first.Name()] = merged.Contexts[merged.CurrentContext]
	context := other.Contexts[other.CurrentContext]
	cluster, user := other.Clusters[context.Cluster], other.AuthInfos[context.AuthInfo]
	cluster.Server, cluster.TLSServerName = "https://"+address.String(), "localhost"
	merged.Clusters[second.Name()], merged.AuthInfos[second.Name()] = cluster, user
	context.Cluster, context.AuthInfo = second.Name(), second.Name()
	merged.Contexts[second.Name()], merged.CurrentContext = context, first.Name()
	file := filepath.Join(directory(), "two.kubeconfig")
	Expect(clientcmd.WriteToFile(*merged, file)).To(Succeed())
	return file
}

// everything names what Spillway could leave behind.
func (c *testCluster) everything() []string {
	GinkgoHelper()
	kinds := "crd,namespace,node,clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding,mutatingadmissionpolicy,mutatingadmissionpolicybinding,priorityclass,persistentvolume"
	out := c.mustKubectl("get", kinds, "-o", "name") + "\n" +
		c.mustKubectl("get", "role,rolebinding,lease", "-n", "kube-system", "-o", "name")
	return strings.Fields(out)
}
