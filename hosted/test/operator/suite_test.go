// Package operator_test runs the operator of hosted clusters on a real API server and on emulated clouds.
package operator_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/hosted/operator"
)

// root is the root of the repository.
var root = filepath.Join("..", "..", "..")

// The API server of all tests, and the number of the operator's writes.
var (
	config *rest.Config
	server client.Client
	writes atomic.Int64
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(run(m))
}

// run is TestMain with deferred calls.
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
	// Also if the start failed: parts of it may run.
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		}
	}()
	var err error
	if config, err = env.Start(); err == nil {
		config.QPS = -1
		server, err = client.New(config, client.Options{Scheme: operator.Scheme()})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting an API server with the CRD (run make kube first):", err)
		return 1
	}
	return m.Run()
}

// counted counts the operator's writes, without events.
type counted struct{ http.RoundTripper }

func (c counted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "events") {
		writes.Add(1)
	}
	return c.RoundTripper.RoundTrip(r)
}
