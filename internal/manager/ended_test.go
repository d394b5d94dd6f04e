package manager_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/cache/informer"
	"github.com/spillway-io/spillway/internal/kubelet"
	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/internal/provider/fleet"
)

// startServer starts an API server with the kinds of Spillway.
func startServer(t *testing.T) *rest.Config {
	t.Helper()
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		assets = filepath.Join("..", "..", "bin", "kube")
	}
	env := &envtest.Environment{BinaryAssetsDirectory: assets, CRDDirectoryPaths: []string{filepath.Join("..", "..", "config", "crd", "bases")}, ErrorIfCRDPathMissing: true}
	server, err := env.Start()
	t.Cleanup(func() { _ = env.Stop() })
	if err != nil {
		t.Fatalf("starting an API server (make kube builds it): %v", err)
	}
	return server
}

func kubeconfigOf(t *testing.T, server *rest.Config) []byte {
	t.Helper()
	written, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{"c": {Server: server.Host, CertificateAuthorityData: server.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": {ClientCertificateData: server.CertData, ClientKeyData: server.KeyData}},
		Contexts:  map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "u"}}, CurrentContext: "c",
	})
	if err != nil {
		t.Fatal(err)
	}
	return written
}

// newManager returns a manager that serves the kubelet API, too.
func newManager(ctx context.Context, t *testing.T, consumer *rest.Config) mcmanager.Manager {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	mgr, err := manager.New(ctx, consumer, manager.Options{SkipMetrics: true,
		Kubelet: kubelet.Options{Address: "127.0.0.1", Port: port},
		Fleet:   fleet.Options{ProbeInterval: 100 * time.Millisecond, LeaseDuration: time.Second},
		Manager: ctrl.Options{
			Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Logger: logr.Discard(),
			Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		}})
	if err != nil {
		t.Fatal(err)
	}
	return mgr
}

// lifeOfAManager runs a manager until the provider is connected, and returns when the manager has
// ended.
func lifeOfAManager(t *testing.T, consumer *rest.Config, c client.Client, generation int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	mgr := newManager(ctx, t, consumer)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		node, binding := &corev1.Node{}, &v1alpha1.ClusterBinding{}
		if err := c.Get(ctx, client.ObjectKey{Name: "eu"}, binding); err != nil {
			return false, err
		}
		err := c.Get(ctx, client.ObjectKey{Name: "spillway-eu"}, node)
		return err == nil && binding.Status.Holder.Generation > generation, client.IgnoreNotFound(err)
	})
	if err != nil {
		t.Fatalf("waiting until the provider is connected: %v", err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the manager has ended with %v", err)
	}
}

// TestNothingStays: what has ended leaves nothing behind.
func TestNothingStays(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	consumer, provider := startServer(t), startServer(t)
	c, err := client.New(consumer, client.Options{Scheme: manager.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: manager.DefaultNamespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: manager.DefaultNamespace, Name: "eu"},
			Data: map[string][]byte{v1alpha1.DefaultKubeconfigKey: kubeconfigOf(t, provider)}},
		&v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}, Spec: v1alpha1.ClusterBindingSpec{
			ClusterID: "eu", KubeconfigSecretRef: v1alpha1.KubeconfigSecretReference{Name: "eu"}}},
	} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	lifeOfAManager(t, consumer, c, 0) // Starts what a process needs only once.
	t.Run("of a manager", func(t *testing.T) { nothingStaysOfAManager(t, consumer, c) })
	t.Run("of a connection", func(t *testing.T) { nothingStaysOfAConnection(t, consumer, c) })
}

// nothingStaysOfAManager: a manager that has ended leaves no goroutines. Tests run thousands of managers in one
// process.
func nothingStaysOfAManager(t *testing.T, consumer *rest.Config, c client.Client) {
	const lives = 10
	before := settled()
	for life := range lives {
		lifeOfAManager(t, consumer, c, int64(life)+1)
	}
	if after := settled(); after >= before+lives { // At least one for each manager stayed.
		t.Errorf("%d goroutines after one manager, %d after %d more:\n%s", before, after, lives, goroutines())
	}
}

// nothingStaysOfAConnection: a connection that has ended leaves no goroutines and no caches in a manager that
// runs for months.
func nothingStaysOfAConnection(t *testing.T, consumer *rest.Config, c client.Client) {
	const connections = 20
	mgr, seen := newManager(t.Context(), t, consumer), &seen{engaged: make(chan struct{})}
	if err := mgr.Add(seen); err != nil {
		t.Fatal(err)
	}
	go func() { _ = mgr.Start(t.Context()) }()
	connected := func() {
		select {
		case <-seen.engaged:
		case <-time.After(time.Minute):
			t.Fatal("the provider is not connected")
		}
	}
	connected()
	before := settled()
	for i := range connections {
		binding := &v1alpha1.ClusterBinding{ObjectMeta: metav1.ObjectMeta{Name: "eu"}}
		budget := fmt.Appendf(nil, `{"spec":{"budget":{"objects":%d}}}`, 10_000+i) // Another budget is another connection.
		if err := c.Patch(t.Context(), binding, client.RawPatch(types.MergePatchType, budget)); err != nil {
			t.Fatal(err)
		}
		connected()
	}
	if after := settled(); after >= before+connections {
		t.Errorf("%d goroutines with one connection, %d after %d more:\n%s", before, after, connections, goroutines())
	}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		runtime.GC()
		return seen.collected.Load() == 2*connections, nil
	})
	if err != nil {
		t.Errorf("of %d providers and caches of connections that have ended, %d are still in memory", 2*connections, 2*connections-seen.collected.Load())
	}
}

// seen is engaged last, and counts the providers and caches that the garbage collector has collected.
type seen struct {
	engaged   chan struct{}
	collected atomic.Int32
}

// Start implements mcmanager.Runnable.
func (s *seen) Start(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Engage implements mcmanager.Runnable.
func (s *seen) Engage(ctx context.Context, _ multicluster.ClusterName, engaged cluster.Cluster) error {
	provider, err := fleet.Of(engaged)
	if err != nil {
		return err
	}
	demand, ok := provider.GetCache().(*informer.Demand)
	if !ok {
		return fmt.Errorf("the cache is a %T", provider.GetCache())
	}
	count := func(struct{}) { s.collected.Add(1) }
	runtime.AddCleanup(provider, count, struct{}{})
	runtime.AddCleanup(demand, count, struct{}{})
	go func() {
		select {
		case s.engaged <- struct{}{}:
		case <-ctx.Done():
		}
	}()
	return nil
}

// goroutines returns the stacks of all goroutines.
func goroutines() string {
	var profile bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
	return profile.String()
}

// settled waits for goroutines to end, and returns how many are left.
func settled() int {
	count, last := 0, -1
	_ = wait.PollUntilContextTimeout(context.Background(), 500*time.Millisecond, 20*time.Second, true, func(context.Context) (bool, error) {
		last, count = count, runtime.NumGoroutine()
		return count == last, nil
	})
	return count
}
