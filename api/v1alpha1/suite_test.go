package v1alpha1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/go-logr/logr"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// root is the root of the repository.
var root = filepath.Join("..", "..")

// The API server that all tests of the package use, with the CRDs.
var (
	config *rest.Config
	server client.Client
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(run(m))
}

// run is TestMain as a function that can defer calls.
func run(m *testing.M) int {
	env, err := startEnvironment()
	if env != nil {
		// Stop it even if the start failed, because parts of it may run.
		defer func() {
			if err := env.Stop(); err != nil {
				fmt.Fprintln(os.Stderr, "stopping the API server:", err)
			}
		}()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func startEnvironment() (*envtest.Environment, error) {
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
	var err error
	if config, err = env.Start(); err != nil {
		return env, fmt.Errorf("starting an API server with the CRDs: %w", err)
	}
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return env, err
	}
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return env, err
	}
	server, err = client.New(config, client.Options{Scheme: scheme})
	return env, err
}
