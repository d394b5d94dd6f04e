package manager_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/spillway-io/spillway/api/v1alpha1"
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

// lifeOfAManager runs a manager until the provider is connected, and returns when the manager has
// ended.
func lifeOfAManager(t *testing.T, consumer *rest.Config, c client.Client, generation int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	mgr, err := manager.New(ctx, consumer, manager.Options{SkipMetrics: true,
		Fleet: fleet.Options{ProbeInterval: 100 * time.Millisecond, LeaseDuration: time.Second},
		Manager: ctrl.Options{
			Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0", Logger: logr.Discard(),
			Controller: config.Controller{SkipNameValidation: ptr.To(true)},
		}})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
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

// TestNothingStaysOfAManager: a manager that has ended leaves no goroutines. Tests run thousands of
// managers in one process.
func TestNothingStaysOfAManager(t *testing.T) {
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
	const lives = 10
	lifeOfAManager(t, consumer, c, 0) // Starts what a process needs only once.
	before := settled()
	for life := range lives {
		lifeOfAManager(t, consumer, c, int64(life)+1)
	}
	after := settled()
	if after >= before+lives { // At least one for each manager stayed.
		var profile bytes.Buffer
		_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
		t.Errorf("%d goroutines after one manager, %d after %d more:\n%s", before, after, lives, profile.String())
	}
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
