//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/e2e/testcluster"
)

// testCluster is a cluster with its administrator's clients.
type testCluster struct {
	testcluster.Cluster
	client.Client
	// api is for logs, which Client does not have.
	api kubernetes.Interface
}

// newTestCluster starts a cluster, and ends it with the suite. Its logs are kept.
func newTestCluster(options testcluster.Options) *testCluster {
	GinkgoHelper()
	cluster, err := factory.Up(ctx, options)
	if err != nil {
		Fail(err.Error()) // It quotes logs, which Gomega would show as one long line.
	}
	DeferCleanup(func() {
		Expect(cluster.SaveLogs(context.Background(), filepath.Join(directory(), "logs", options.Name))).To(Succeed())
		Expect(cluster.Down(context.Background())).To(Succeed())
	})
	c := &testCluster{Cluster: cluster}
	c.Client, err = client.New(cluster.Config(), client.Options{Scheme: scheme()})
	Expect(err).NotTo(HaveOccurred())
	c.api, err = kubernetes.NewForConfig(cluster.Config())
	Expect(err).NotTo(HaveOccurred())
	return c
}

// kubectl runs kubectl as the administrator of the cluster, and returns its output.
func (c *testCluster) kubectl(args ...string) (string, error) {
	return c.kubectlWith(nil, args...)
}

// kubectlCommand returns a command that has not been started.
func (c *testCluster) kubectlCommand(args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, filepath.Join(root(), "bin", "kube", "kubectl"), append([]string{"--kubeconfig", c.Kubeconfig()}, args...)...)
}

func (c *testCluster) kubectlWith(input []byte, args ...string) (string, error) {
	command := c.kubectlCommand(args...)
	command.Stdin = bytes.NewReader(input)
	out, err := command.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// mustKubectl runs kubectl, which must succeed.
func (c *testCluster) mustKubectl(args ...string) string {
	GinkgoHelper()
	out, err := c.kubectl(args...)
	Expect(err).NotTo(HaveOccurred(), "kubectl %s on %s: %s", strings.Join(args, " "), c.Name(), out)
	return out
}

// before reports whether the cluster's release of Kubernetes is older than that one.
func (c *testCluster) before(release string) bool {
	GinkgoHelper()
	serves, err := c.api.Discovery().ServerVersion()
	Expect(err).NotTo(HaveOccurred())
	return version.MustParseSemantic(serves.GitVersion).LessThan(version.MustParse(release))
}

func scheme() *runtime.Scheme {
	GinkgoHelper()
	all := runtime.NewScheme()
	Expect(clientgoscheme.AddToScheme(all)).To(Succeed())
	Expect(v1alpha1.AddToScheme(all)).To(Succeed())
	return all
}

func clientKey(namespace, name string) client.ObjectKey {
	return client.ObjectKey{Namespace: namespace, Name: name}
}

// nodesOf returns the nodes that the pods of a namespace are bound to.
func (c *testCluster) nodesOf(namespace string) ([]string, error) {
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.InNamespace(namespace))
	nodes := make([]string, 0, len(pods.Items))
	for i := range pods.Items {
		nodes = append(nodes, pods.Items[i].Spec.NodeName)
	}
	return nodes, err
}
