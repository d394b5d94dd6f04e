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

// Ways to use Spillway with two clusters and no YAML, one after the other. The manager runs in a pod, from
// the image of make image.
var _ = Describe("On two clusters of one's own", Ordered, Label("newcomer"), func() {
	n := &newcomer{}
	BeforeAll(func() {
		needReal()
		if *consumerRelease != "" {
			Skip("its clusters are of the default release: no node's kubelet may be newer than its API server")
		}
		n.home = newTestCluster(testcluster.Options{Name: "home", Nodes: 1, Real: true, Log: GinkgoWriter,
			Images: []string{filepath.Join(root(), "dist", "spillway.tar")}})
		n.us = newTestCluster(testcluster.Options{Name: "us", Nodes: 1, Log: GinkgoWriter})
		n.kubeconfig = twoContexts(n.home, n.us)
		n.before = map[*testCluster][]string{n.home: n.home.everything(), n.us: n.us.everything()}
	})
	Describe("kubectl spillway", n.withPlugin)
	Describe("Helm", n.withHelm)
})

// newcomer has two clusters, home and us, and one kubeconfig.
type newcomer struct {
	home, us   *testCluster
	kubeconfig string
	// before has the names of the objects that were in them at first.
	before map[*testCluster][]string
}

const unchanged = "a second time changes nothing"

// withPlugin needs only kubectl spillway.
func (n *newcomer) withPlugin() {
	const (
		namespace = "shop"
		image     = "ghcr.io/spillway-io/spillway:dev"
	)

	It("installs the manager", func() {
		n.spillway("install", "--image", image)
		Expect(n.spillway("install", "--image", image)).NotTo(Or(ContainSubstring("created"), ContainSubstring("configured")), unchanged)
	})

	It("binds a provider", func() {
		n.spillway("bind", "us", "--provider-context", "us")
		Expect(n.spillway("bind", "us", "--provider-context", "us")).NotTo(Or(ContainSubstring("created"), ContainSubstring("configured")), unchanged)
	})

	It("offloads a namespace, whose pods then run in the provider", func() { n.offloads(namespace, 2) })

	It("says where everything is, and finds nothing to mend", func() {
		var pods corev1.PodList
		Expect(n.home.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
		Expect(n.spillway("status")).To(And(ContainSubstring("us: Ready"), ContainSubstring("namespace "+namespace), ContainSubstring("2 of 2 pods run")))
		Expect(n.spillway("explain", "-n", namespace, pods.Items[0].Name)).To(ContainSubstring("us"))
		n.spillway("doctor")
	})

	It("leaves nothing", func() {
		n.spillway("unbind", "us", "--provider-context", "us")
		n.spillway("uninstall", "--all")
		n.home.mustKubectl("delete", "namespace", namespace)
		Eventually(n.home.everything).Should(Equal(n.before[n.home]), "nothing is left in the consumer")
		// The objects that confine consumers stay in the provider: see kubectl spillway unbind --help.
		Eventually(n.us.everything).Should(HaveEach(Or(BeElementOf(n.before[n.us]),
			Equal("namespace/spillway-provider"), HavePrefix("validatingadmissionpolicy"))), "no right and no remote namespace is left in the provider")
	})
}

// spillway runs kubectl spillway.
func (n *newcomer) spillway(args ...string) string {
	GinkgoHelper()
	command := exec.CommandContext(ctx, filepath.Join(root(), "bin", "kube", "kubectl"), append([]string{"spillway"}, args...)...)
	command.Env = append(os.Environ(), "PATH="+filepath.Join(root(), "bin")+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := n.run(command)
	Expect(err).NotTo(HaveOccurred(), "kubectl spillway %s: %s", strings.Join(args, " "), out)
	return out
}

// run runs a command with the kubeconfig, and returns its whole output.
func (n *newcomer) run(command *exec.Cmd) (string, error) {
	command.Env = append(command.Env, "KUBECONFIG="+n.kubeconfig)
	out, err := command.CombinedOutput()
	GinkgoWriter.Printf("$ %s\n%s\n", strings.Join(command.Args, " "), out)
	return string(out), err
}

// offloads creates a namespace, offloads it, and runs pods in it.
func (n *newcomer) offloads(namespace string, pods int32) {
	GinkgoHelper()
	n.home.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	n.home.create(greetingIn(namespace), passwordIn(namespace))
	n.spillway("offload", namespace, "--strategy", "Remote")
	n.home.awaitPolicy(namespace)
	web := newDeployment(namespace, "web", pods)
	n.home.create(web)
	Eventually(read(n.home, web, &appsv1.Deployment{})).Should(HaveField("Status.ReadyReplicas", pods))
	Expect(n.home.nodesOf(namespace)).To(HaveEach("spillway-us"))
}

// twoContexts writes a kubeconfig with a context for each cluster; the first is current. The second cluster
// has an address that containers of the first one reach, too.
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

// everything returns the names of what Spillway could leave behind.
func (c *testCluster) everything() []string {
	GinkgoHelper()
	kinds := "crd,namespace,node,clusterrole,clusterrolebinding,validatingadmissionpolicy,validatingadmissionpolicybinding,mutatingadmissionpolicy,mutatingadmissionpolicybinding,priorityclass,persistentvolume"
	out := c.mustKubectl("get", kinds, "-o", "name") + "\n" +
		c.mustKubectl("get", "role,rolebinding,lease", "-n", "kube-system", "-o", "name")
	return strings.Fields(out)
}
