package admission

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/manifests"
)

// apiServer is an API server with its administrator's client.
type apiServer struct {
	client.Client
	config *rest.Config
	env    *envtest.Environment
}

// server is the API server of most tests. It is consumer and provider at once: the manifests for the two
// sides are about different accounts.
var server = lazily(func(ctx context.Context) (*apiServer, error) {
	s, err := start(func(api *envtest.APIServer) {
		// This enables a field that policies forbid. Otherwise it would be dropped before.
		api.Configure().Append("feature-gates", "PodCertificateRequest=true")
	})
	if err != nil {
		return nil, err
	}
	if older() {
		theManaged, err = installWebhook(ctx, s)
		return s, errors.Join(err, provide(ctx, s))
	}
	return s, errors.Join(install(ctx, s), provide(ctx, s))
})

// spare is a provider with properties that the first API server cannot have. A test may change its limits,
// authorization.yaml is in effect, and it does not serve MutatingAdmissionPolicy as v1. As far as we can see,
// the last equals releases before Kubernetes 1.36. The plugin has to be off as well. Otherwise it waits for
// the kind, and the API server never becomes ready.
var spare = lazily(func(ctx context.Context) (*apiServer, error) {
	authorization, err := authorizationConfig()
	if err != nil {
		return nil, err
	}
	s, err := start(func(api *envtest.APIServer) {
		api.Configure().Disable("authorization-mode").Set("authorization-config", authorization)
		if !older() {
			api.Configure().
				Append("runtime-config", "admissionregistration.k8s.io/v1/mutatingadmissionpolicies=false").
				Append("disable-admission-plugins", "MutatingAdmissionPolicy")
		}
	})
	if err != nil {
		return nil, err
	}
	return s, provide(ctx, s)
})

// atEnd are the last calls of TestMain: they stop the API servers.
var atEnd []func() error

// lazily starts an API server for the first test that needs it.
func lazily(start func(context.Context) (*apiServer, error)) func(*testing.T) *apiServer {
	once := sync.OnceValues(func() (*apiServer, error) {
		return start(context.Background()) // The applied objects outlive the first test.
	})
	return func(t *testing.T) *apiServer {
		t.Helper()
		s, err := once()
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// assets returns the folder of the tested programs.
func assets() string {
	if set := os.Getenv("KUBEBUILDER_ASSETS"); set != "" {
		return set
	}
	return filepath.Join(root, "bin", "kube")
}

// start starts an API server with its own etcd.
func start(configure func(*envtest.APIServer)) (*apiServer, error) {
	if _, err := os.Stat(filepath.Join(assets(), "kube-apiserver")); err != nil {
		return nil, fmt.Errorf("no Kubernetes to test against: run make kube (%w)", err)
	}
	s := &apiServer{env: &envtest.Environment{BinaryAssetsDirectory: assets()}}
	configure(s.env.ControlPlane.GetAPIServer())
	// Also if the start fails: parts of it may run.
	atEnd = append(atEnd, s.env.Stop)
	var err error
	if s.config, err = s.env.Start(); err != nil {
		return nil, fmt.Errorf("starting an API server: %w", err)
	}
	s.config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme), gatewayv1.Install(scheme)); err != nil {
		return nil, err
	}
	s.Client, err = client.New(s.config, client.Options{Scheme: scheme})
	return s, err
}

// install applies what is shipped for the consumer, except the manager itself.
func install(ctx context.Context, s *apiServer) error {
	shipped, err := manifests.Kustomized(ctx, "config/default")
	if err != nil {
		return err
	}
	policy, err := read(podsPolicy)
	if err != nil {
		return err
	}
	copied, err := read(offloadingCRD, copying(""))
	if err != nil {
		return err
	}
	// An API server discovers new kinds twice a minute, so all kinds are applied before the first policy that
	// reads one.
	shipped = manifests.Without(shipped, "Deployment", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
	if shipped, err = manifests.WithGatewayAPI(ctx, shipped); err != nil {
		return err
	}
	if err := manifests.Create(ctx, s, slices.Concat(copied, shipped, policy)); err != nil {
		return err
	}
	return untilManagerIsConfined(ctx, s)
}

// provide applies what is shipped for a provider.
func provide(ctx context.Context, s *apiServer) error {
	shipped, err := manifests.Kustomized(ctx, "config/provider")
	if err != nil {
		return err
	}
	// An API server may serve both sides: it has the kinds only once.
	if err := s.List(ctx, &gatewayv1.HTTPRouteList{}); err != nil {
		if shipped, err = manifests.WithGatewayAPI(ctx, shipped); err != nil {
			return err
		}
	}
	if err := manifests.Create(ctx, s, shipped); err != nil {
		return err
	}
	return untilConsumerIsConfined(ctx, s)
}

// accountConfig lets the administrator act as a ServiceAccount, with the groups of its token.
func (s *apiServer) accountConfig(namespace, name string) *rest.Config {
	config := rest.CopyConfig(s.config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:" + namespace + ":" + name,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"},
	}
	return config
}

// account returns a client that acts as a ServiceAccount.
func (s *apiServer) account(namespace, name string) (client.WithWatch, error) {
	return client.NewWithWatch(s.accountConfig(namespace, name), client.Options{Scheme: s.Scheme()})
}

// consumer returns a client that acts as a ServiceAccount of a consumer.
func (s *apiServer) consumer(t *testing.T, name string) client.WithWatch {
	t.Helper()
	c, err := s.account(v1alpha1.ProviderNamespace, name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// nobody is a kubeconfig with an address at which nothing listens.
const nobody = `{"apiVersion":"v1","kind":"Config","current-context":"nobody",
"contexts":[{"name":"nobody","context":{"cluster":"nobody","user":"nobody"}}],
"clusters":[{"name":"nobody","cluster":{"server":"https://127.0.0.1:1"}}],"users":[{"name":"nobody","user":{}}]}`

// authorizationConfig returns the path of the shipped file, with what an administrator fills in.
func authorizationConfig() (string, error) {
	shipped, err := os.ReadFile(filepath.Join(root, "config", "provider", "authorization.yaml"))
	if err != nil {
		return "", err
	}
	directory, err := os.MkdirTemp("", "admission-")
	if err != nil {
		return "", err
	}
	atEnd = append(atEnd, func() error { return os.RemoveAll(directory) })
	kubeconfig, config := filepath.Join(directory, "nobody"), filepath.Join(directory, "config")
	filled := strings.NewReplacer("'ORIGIN'", "'origin'", "(?:NAMESPACES)", "(?:.*-demo)", "/etc/kubernetes/nobody.kubeconfig", kubeconfig).Replace(string(shipped))
	return config, errors.Join(os.WriteFile(kubeconfig, []byte(nobody), 0o600), os.WriteFile(config, []byte(filled), 0o600))
}
