// Package admission tests the admission policies of config/policy, and that of
// config/provider, on a real API server.
//
// An API server takes up a policy, and what the policy reads, a moment after
// it was written. Tests therefore wait, with settled, until it has; what they
// then create meets the policy.
package admission

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/manifests"
)

// podsPolicy is the file that most tests are about.
const podsPolicy = "config/policy/pods.yaml"

// root is the root of the repository.
var root = filepath.Join("..", "..")

// server is the API server that most tests of the package talk to, with the
// CRDs and the policies.
var server client.Client

// administrator is who server talks as.
var administrator *rest.Config

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(run(m))
}

// run is TestMain with deferred calls that are run.
func run(m *testing.M) int {
	env, err := startServer(&server, withPodCertificates)
	if env != nil {
		// Also when it could not be started as a whole: parts of it may run.
		defer func() {
			if err := env.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, "stopping the API server:", err)
			}
		}()
	}
	if err == nil {
		administrator = env.Config
		err = apply(context.Background(), server, podsPolicy)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// withPodCertificates has the API server take up a field that a policy forbids,
// and that would else be dropped before.
func withPodCertificates(env *envtest.Environment) {
	env.ControlPlane.GetAPIServer().Configure().Append("feature-gates", "PodCertificateRequest=true")
}

// startServer starts an API server with the CRDs, and makes a client for it.
func startServer(c *client.Client, flags ...func(*envtest.Environment)) (*envtest.Environment, error) {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		assets = filepath.Join(root, "bin", "kube")
	}
	if _, err := os.Stat(filepath.Join(assets, "kube-apiserver")); err != nil {
		return nil, fmt.Errorf("no Kubernetes to test against: run make kube (%w)", err)
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	for _, flag := range flags {
		flag(env)
	}
	config, err := env.Start()
	if err != nil {
		return env, fmt.Errorf("starting an API server with the CRDs: %w", err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return env, err
	}
	*c, err = client.New(config, client.Options{Scheme: scheme})
	return env, err
}

// apply creates what a file of the repository holds, after the changes.
func apply(ctx context.Context, c client.Client, file string, changes ...func(*unstructured.Unstructured)) error {
	objects, err := manifests.File(file)
	if err != nil {
		return err
	}
	for _, object := range objects {
		for _, change := range changes {
			change(object)
		}
	}
	return manifests.Create(ctx, c, objects)
}

// offloaded makes a namespace and, unless its spec is nil, a
// NamespaceOffloading in it, and waits until pods of it meet the policy.
func offloaded(t *testing.T, spec *v1alpha1.NamespaceOffloadingSpec) string {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}
	if err := server.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	if spec == nil {
		return namespace.Name
	}
	offloading := &v1alpha1.NamespaceOffloading{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: v1alpha1.OffloadingName},
		Spec:       *spec,
	}
	if err := server.Create(t.Context(), offloading); err != nil {
		t.Fatal(err)
	}
	if spec.PodOffloadingStrategy == v1alpha1.PodsLocal {
		return namespace.Name // there is nothing to see; see TestMain
	}
	settled(t, namespace.Name, true)
	return namespace.Name
}

// settled waits until pods of a namespace are, or are not, changed by the policy.
func settled(t *testing.T, namespace string, changed bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 30*time.Second, true,
		func(ctx context.Context) (bool, error) {
			pod := newPod(namespace)
			if err := server.Create(ctx, pod, client.DryRunAll); err != nil {
				return false, err
			}
			return toleratesVirtualNodes(pod) == changed, nil
		})
	if err != nil {
		t.Fatalf("waiting until pods of %s are changed (%t) by the policy: %v", namespace, changed, err)
	}
}

// newPod is the least of a pod.
func newPod(namespace string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "pod"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "image"}}},
	}
}

func toleratesVirtualNodes(pod *corev1.Pod) bool {
	taint := &corev1.Taint{Key: v1alpha1.TaintVirtualNode, Value: "eu", Effect: corev1.TaintEffectNoSchedule}
	for _, toleration := range pod.Spec.Tolerations {
		if toleration.ToleratesTaint(logr.Discard(), taint, false) {
			return true
		}
	}
	return false
}

func stop(t *testing.T, env *envtest.Environment) {
	t.Helper()
	if err := env.Stop(); err != nil {
		t.Errorf("stopping an API server: %v", err)
	}
}
