package integration

import (
	"context"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/manifests"
)

const (
	// nodeGrace is how long the lease of a virtual node may be silent before
	// the node becomes NotReady. It is renewed every 5 seconds; the rest is for
	// a manager to start in, on a slow machine.
	nodeGrace = 30 * time.Second
	// requestTimeout bounds each request of the specs, so that an API server
	// that hangs is an error that names the request.
	requestTimeout = time.Minute
)

// policyKinds are those that the second consumer does not serve.
var policyKinds = []string{"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}

// quiet are the arguments of the controller managers of providers. Their nodes are
// made by the specs, and nobody renews their leases: they must not become NotReady
// for that.
var quiet = map[string]string{"controllers": "*,-node-lifecycle-controller"}

// controlPlane is a cluster with the client of its administrator.
type controlPlane struct {
	*clusters.Cluster
	client.Client
	// watcher has no time-out, which would end a watch.
	watcher client.WithWatch
	// uid is the identity of the cluster.
	uid string
}

// bringUp makes all control planes, at once.
func bringUp() {
	withControllers := []clusters.Component{clusters.KubeControllerManager}
	var group sync.WaitGroup
	for target, options := range map[**controlPlane]clusters.Options{
		&home: {Name: "home", Components: withControllers, NodeGrace: nodeGrace},
		&eu:   {Name: "eu", Components: withControllers, ControllerManagerArgs: quiet, BinDir: programs(*providers)},
		&us:   {Name: "us", Components: withControllers, ControllerManagerArgs: quiet, BinDir: programs(*providers)},
		&other: {Name: "other", Components: withControllers, APIServerArgs: map[string]string{
			"runtime-config":            "admissionregistration.k8s.io/v1/mutatingadmissionpolicies=false",
			"disable-admission-plugins": "MutatingAdmissionPolicy",
		}},
	} {
		group.Go(func() {
			defer GinkgoRecover()
			*target = newControlPlane(options)
		})
	}
	group.Wait()
}

// programs is the folder of those of a release, or "" for those of the default.
func programs(release string) string {
	GinkgoHelper()
	if release == "" {
		return ""
	}
	root, err := clusters.Root()
	Expect(err).NotTo(HaveOccurred())
	return filepath.Join(root, "bin", "kube-"+release)
}

func newControlPlane(options clusters.Options) *controlPlane {
	options.Dir, options.Log = directory(), GinkgoWriter
	cluster, err := clusters.Up(ctx, options)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() {
		if !*keep {
			Expect(cluster.Down(context.Background())).To(Succeed())
		}
	})
	watcher, err := client.NewWithWatch(cluster.Config(), client.Options{Scheme: manager.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	config := cluster.Config()
	config.Timeout = requestTimeout
	c, err := client.New(config, client.Options{Scheme: manager.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	kubeSystem := &corev1.Namespace{}
	Expect(c.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, kubeSystem)).To(Succeed())
	return &controlPlane{Cluster: cluster, Client: c, watcher: watcher, uid: string(kubeSystem.UID)}
}

// install applies what is shipped, but for what runs the manager, which runs in
// this process, and for the kinds in without.
func (c *controlPlane) install(directory string, without ...string) {
	GinkgoHelper()
	shipped, err := manifests.Kustomized(ctx, directory)
	Expect(err).NotTo(HaveOccurred())
	Expect(manifests.Create(ctx, c, manifests.Without(shipped, append(without, "Deployment")...))).
		To(Succeed(), "installing %s in %s", directory, c.Name)
}

// directory is that of the control planes of this process of the suite.
func directory() string {
	GinkgoHelper()
	root, err := clusters.Root()
	Expect(err).NotTo(HaveOccurred())
	return filepath.Join(root, "bin", "integration", strconv.Itoa(GinkgoParallelProcess()))
}
