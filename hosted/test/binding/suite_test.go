// Package binding tests, on two real API servers, that a hosted cluster becomes a provider. One is the
// consumer, where the operator has only the rights of config/hosted. The other is the cluster in the cloud.
// It checks EKS' tokens with a webhook, as EKS does.
package binding

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awseks "github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/spillway-io/spillway/api/v1alpha1"
	hosted "github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/eks"
	clouds "github.com/spillway-io/spillway/hosted/test"
	"github.com/spillway-io/spillway/test/manifests"
)

// The clusters' clients and configs, with an administrator's rights.
var (
	consumer, cluster             client.Client
	consumerConfig, clusterConfig *rest.Config
	tokens                        clouds.TokensOfEKS
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	os.Exit(run(m))
}

func run(m *testing.M) int {
	folder, err := os.MkdirTemp("", "binding")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	webhook := httptest.NewServer(&tokens)
	defer webhook.Close()
	here, there := &envtest.Environment{BinaryAssetsDirectory: assets()}, &envtest.Environment{BinaryAssetsDirectory: assets()}
	if err := tokens.Use(there, folder, webhook.URL); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _, _ = here.Stop(), there.Stop() }()
	if consumer, consumerConfig, err = start(here); err == nil {
		cluster, clusterConfig, err = start(there)
	}
	if err == nil {
		err = install(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "starting the clusters:", err)
		return 1
	}
	return m.Run()
}

func assets() string {
	if set := os.Getenv("KUBEBUILDER_ASSETS"); set != "" {
		return set
	}
	return filepath.Join("..", "..", "..", "bin", "kube")
}

func start(env *envtest.Environment) (client.Client, *rest.Config, error) {
	config, err := env.Start()
	if err != nil {
		return nil, nil, err
	}
	config.QPS = -1
	known := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(known), v1alpha1.AddToScheme(known), hosted.AddToScheme(known)); err != nil {
		return nil, nil, err
	}
	c, err := client.New(config, client.Options{Scheme: known})
	return c, config, err
}

// install applies what is shipped for the operator, and what it needs of the manager's manifests.
func install(ctx context.Context) error {
	crds, err := manifests.Kustomized(ctx, "config/crd")
	if err != nil {
		return err
	}
	shipped, err := manifests.Kustomized(ctx, "config/hosted")
	if err != nil {
		return err
	}
	if err := manifests.Create(ctx, consumer, crds); err != nil {
		return err
	}
	if err := consumer.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: managerNamespace}}); err != nil {
		return err
	}
	return manifests.Create(ctx, consumer, manifests.Without(shipped, "Deployment"))
}

// The namespaces of the manager and of the operator, and the operator's account.
const (
	managerNamespace  = "spillway-system"
	operatorNamespace = "spillway-hosted"
	account           = "spillway-hosted"
)

// operator returns the client config of the shipped account.
func operator(t *testing.T) *rest.Config {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if err := consumer.SubResource("token").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operatorNamespace, Name: account}}, request); err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(consumerConfig)
	config.BearerToken, config.QPS = request.Status.Token, -1
	return config
}

// keys counts the keys that signed EKS' tokens.
var keys atomic.Int64

// source is the client of a cluster in EKS whose API server is the second one.
func source(t *testing.T, name string) *eks.Client {
	t.Helper()
	server := httptest.NewServer(clouds.NewEKS(map[string]any{
		"name": name, "arn": "arn:" + name, "status": "ACTIVE", "endpoint": clusterConfig.Host,
		"certificateAuthority": map[string]any{"data": base64.StdEncoding.EncodeToString(clusterConfig.CAData)},
	}))
	t.Cleanup(server.Close)
	return &eks.Client{Cluster: eks.Cluster{Name: name, Region: "eu-central-1"}, API: awseks.New(awseks.Options{
		Region: "eu-central-1", BaseEndpoint: aws.String(server.URL), HTTPClient: server.Client(), RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			// API servers cache a token for ten seconds. Two tokens are equal if they are signed in the same
			// second with the same key.
			return aws.Credentials{AccessKeyID: fmt.Sprintf("id%d", keys.Add(1)), SecretAccessKey: "secret", CanExpire: true, Expires: time.Now()}, nil
		}),
	})}
}

// patience is how long an API server may take to apply a policy.
const patience = 2 * time.Minute
