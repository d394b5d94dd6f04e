package testcluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/kind/pkg/cluster"
)

const (
	// kindImage is an image that nodes can pull.
	kindImage = "docker.io/library/busybox:1.37"
	// kindPrefix separates the names of these clusters from the machine's other kind clusters.
	kindPrefix = "spillway-e2e-"
	// kindPatience bounds the start of a control plane, when its image has been pulled.
	kindPatience = 5 * time.Minute
)

// Kind starts clusters in containers.
type Kind struct {
	// Dir has the kubeconfigs.
	Dir string
}

// RealNodes returns why kind does not work here, or nil.
func (*Kind) RealNodes() error {
	_, err := kindProvider()
	return err
}

// kindProvider returns kind on Docker, Podman or nerdctl, whichever is installed. It also sends a request,
// because an installed program may not work.
func kindProvider() (*cluster.Provider, error) {
	option, err := cluster.DetectNodeProvider()
	if err != nil {
		return nil, fmt.Errorf("kind: %w", err)
	}
	provider := cluster.NewProvider(option)
	if _, err := provider.List(); err != nil {
		return nil, fmt.Errorf("kind needs Docker, Podman or nerdctl that works: %w", err)
	}
	return provider, nil
}

// Image returns a public image.
func (*Kind) Image() string { return kindImage }

// Up starts a cluster. Its API server listens on 127.0.0.1, so a manager on this machine reaches it at the
// address in the kubeconfigs.
func (k *Kind) Up(ctx context.Context, o Options) (Cluster, error) {
	provider, err := kindProvider()
	if err != nil {
		return nil, err
	}
	made := &kindCluster{provider: provider, name: o.Name, path: filepath.Join(k.Dir, o.Name+".kubeconfig")}
	if err := os.MkdirAll(k.Dir, 0o750); err != nil {
		return nil, err
	}
	if err := made.Down(ctx); err != nil {
		return nil, fmt.Errorf("removing what is left of an earlier one: %w", err)
	}
	if o.Log != nil {
		fmt.Fprintf(o.Log, "cluster %s: starting with kind\n", o.Name)
	}
	// kind takes no context; its own limits end it.
	err = made.provider.Create(kindPrefix+o.Name,
		cluster.CreateWithV1Alpha4Config(kindConfig(o)),
		cluster.CreateWithKubeconfigPath(made.path),
		cluster.CreateWithWaitForReady(kindPatience),
		cluster.CreateWithDisplayUsage(false),
		cluster.CreateWithDisplaySalutation(false),
	)
	if err == nil {
		made.config, err = clientcmd.BuildConfigFromFlags("", made.path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bringing up cluster %s with kind: %w", o.Name, err), made.Down(ctx))
	}
	made.config.QPS = -1
	return made, nil
}

// kindConfig requests the workers of the options. kind keeps pods off a control plane only if there are
// workers.
func kindConfig(o Options) *v1alpha4.Cluster {
	config := &v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{APIVersion: "kind.x-k8s.io/v1alpha4", Kind: "Cluster"},
		Nodes:    []v1alpha4.Node{{Role: v1alpha4.ControlPlaneRole}},
	}
	for range max(o.Nodes, 1) {
		config.Nodes = append(config.Nodes, v1alpha4.Node{Role: v1alpha4.WorkerRole})
	}
	return config
}

// kindCluster is a cluster that Kind has started.
type kindCluster struct {
	provider *cluster.Provider
	name     string
	path     string
	config   *rest.Config
}

// Name returns the name of the cluster, without kindPrefix.
func (k *kindCluster) Name() string { return k.name }

// Kubeconfig returns the path of the administrator's kubeconfig.
func (k *kindCluster) Kubeconfig() string { return k.path }

// Config returns the administrator's client config.
func (k *kindCluster) Config() *rest.Config { return rest.CopyConfig(k.config) }

// KubeconfigFor returns a kubeconfig of a ServiceAccount.
func (k *kindCluster) KubeconfigFor(ctx context.Context, namespace, serviceAccount string, ttl time.Duration) ([]byte, error) {
	return kubeconfigFor(ctx, k.config, namespace, serviceAccount, ttl)
}

// SaveLogs writes the output of kind export logs into the directory.
func (k *kindCluster) SaveLogs(_ context.Context, directory string) error {
	return k.provider.CollectLogs(kindPrefix+k.name, directory)
}

// Down deletes the cluster. kind returns no error if it does not exist.
func (k *kindCluster) Down(context.Context) error {
	return k.provider.Delete(kindPrefix+k.name, k.path)
}
