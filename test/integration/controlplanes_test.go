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
	// nodeGrace is how long a virtual node's Lease may go unrenewed before the node becomes NotReady. It is
	// renewed every 5 seconds; the rest allows a manager to start on a slow machine.
	nodeGrace = 30 * time.Second
	// requestTimeout bounds each request of the specs. So if an API server hangs, the error names the
	// request.
	requestTimeout = time.Minute
)

// policyKinds are the kinds that the second consumer does not serve.
var policyKinds = []string{"MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"}

// binder are the arguments of home's controller manager. It looks every second for a volume for a claim, and
// not every 15 seconds.
var binder = map[string]string{"pvclaimbinder-sync-period": "1s"}

// quiet are the arguments of the providers' controller managers. The specs create the nodes there, and nobody
// renews their Leases: they must not become NotReady for that.
var quiet = map[string]string{"controllers": "*,-node-lifecycle-controller", "pvclaimbinder-sync-period": "1s"}

// controlPlane is a cluster with its administrator's client.
type controlPlane struct {
	*clusters.Cluster
	client.Client
	// watcher has no timeout, which would end a watch.
	watcher client.WithWatch
	// uid is the identity of the cluster.
	uid string
}

// bringUp starts all control planes at once.
func bringUp() {
	withControllers := []clusters.Component{clusters.KubeControllerManager}
	var group sync.WaitGroup
	for target, options := range map[**controlPlane]clusters.Options{
		&home: {Name: "home", Components: withControllers, ControllerManagerArgs: binder, NodeGrace: nodeGrace},
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

// programs returns the folder of a release's programs, or "" for the default release.
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

// install applies a shipped directory, without the Deployment (the manager runs in this process) and the
// kinds in without.
func (c *controlPlane) install(directory string, without ...string) {
	GinkgoHelper()
	shipped, err := manifests.Kustomized(ctx, directory)
	Expect(err).NotTo(HaveOccurred())
	Expect(manifests.Create(ctx, c, manifests.Without(shipped, append(without, "Deployment")...))).
		To(Succeed(), "installing %s in %s", directory, c.Name)
}

// directory returns the directory of the control planes of this process of the suite.
func directory() string {
	GinkgoHelper()
	root, err := clusters.Root()
	Expect(err).NotTo(HaveOccurred())
	return filepath.Join(root, "bin", "integration", strconv.Itoa(GinkgoParallelProcess()))
}
