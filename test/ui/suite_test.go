// Package ui runs kubectl spillway ui against a real API server, as an administrator and as a member of a team, and
// looks at the page with headless Chromium. The test plays the manager and the operator of hosted clusters.
package ui

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	hosted "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/plugin"
)

// root is the root of the repository.
var root = filepath.Join("..", "..")

// patience is how long the tests wait for anything.
const patience = 2 * time.Minute

// The API server, and the client of its administrator.
var (
	env    *envtest.Environment
	server client.Client
)

func TestMain(m *testing.M) {
	flag.Parse()
	log.SetLogger(logr.Discard())
	os.Exit(run(m))
}

// run is TestMain with deferred calls.
func run(m *testing.M) int {
	assets := os.Getenv("KUBEBUILDER_ASSETS")
	if assets == "" {
		assets = filepath.Join(root, "bin", "kube")
	}
	env = &envtest.Environment{
		BinaryAssetsDirectory: assets, ErrorIfCRDPathMissing: true,
		CRDDirectoryPaths: []string{filepath.Join(root, "config", "crd", "bases"), filepath.Join(root, "config", "hosted", "crd", "bases")},
	}
	// Also if the start failed: parts of it may run.
	defer func() {
		if err := env.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the API server:", err)
		}
	}()
	config, err := env.Start()
	if err == nil {
		config.QPS = -1
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme, hosted.AddToScheme} {
			if err := add(scheme); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return 1
			}
		}
		server, err = client.New(config, client.Options{Scheme: scheme})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting an API server with the CRDs (run make kube first):", err)
		return 1
	}
	return m.Run()
}

// kubeconfig writes the kubeconfig of a user whose context has a namespace.
func kubeconfig(t *testing.T, name, namespace string, groups ...string) string {
	t.Helper()
	user, err := env.AddUser(envtest.User{Name: name, Groups: groups}, &rest.Config{})
	if err != nil {
		t.Fatal(err)
	}
	text, err := user.KubeConfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		t.Fatal(err)
	}
	config.Contexts[config.CurrentContext].Namespace = namespace
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// serve runs kubectl spillway ui until the test ends, and returns the URL that it prints.
func serve(t *testing.T, args ...string) (url string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	printed := make(chan string, 1)
	streams, _, _, errs := genericiooptions.NewTestIOStreams()
	streams.Out = printer(printed)
	command := plugin.Command("test", streams)
	command.SetArgs(append([]string{"ui", "--open=false"}, args...))
	ended := make(chan error, 1)
	go func() { ended <- command.ExecuteContext(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("kubectl spillway ui has ended: %v %s", err, errs)
		}
	})
	select {
	case text := <-printed:
		url, _, _ = strings.Cut(text, "\n")
		return url
	case err := <-ended:
		ended <- nil
		t.Fatalf("kubectl spillway ui: %v", err)
	case <-time.After(patience):
		t.Fatal("kubectl spillway ui prints no URL")
	}
	return ""
}

// printer passes on what is printed first.
type printer chan string

func (p printer) Write(text []byte) (int, error) {
	select {
	case p <- string(text):
	default:
	}
	return len(text), nil
}
