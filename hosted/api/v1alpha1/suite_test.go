package v1alpha1_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
)

// root is the root of the repository.
var root = filepath.Join("..", "..", "..")

// The API server that all tests of the package use, with the CRD.
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
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		assets = filepath.Join(root, "bin", "kube")
	}
	env := &envtest.Environment{
		BinaryAssetsDirectory: assets,
		CRDDirectoryPaths:     []string{filepath.Join(root, "config", "hosted", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
	// Stop it even if the start failed, because parts of it may run.
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		}
	}()
	if err := start(env); err != nil {
		fmt.Fprintln(os.Stderr, "starting an API server with the CRD (run make kube first):", err)
		return 1
	}
	return m.Run()
}

func start(env *envtest.Environment) error {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return err
	}
	var err error
	if config, err = env.Start(); err != nil {
		return err
	}
	config.QPS = -1
	server, err = client.New(config, client.Options{Scheme: scheme})
	return err
}
