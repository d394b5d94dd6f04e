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
	// kindImage is one that nodes can pull.
	kindImage = "docker.io/library/busybox:1.37"
	// kindPrefix keeps the names of our clusters apart from other ones of kind,
	// which are shared by all of a machine.
	kindPrefix = "spillway-e2e-"
	// kindPatience bounds the start of a control plane, once its image is there.
	kindPatience = 5 * time.Minute
)

// Kind makes clusters in containers.
type Kind struct {
	// Dir holds the kubeconfigs.
	Dir string
}

// RealNodes says why kind does not work here, or nothing.
func (*Kind) RealNodes() error {
	_, err := kindProvider()
	return err
}

// kindProvider is kind on what there is of Docker, Podman and nerdctl. That the
// program is there does not say that it works, so it is asked for something.
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

// Image is a public one.
func (*Kind) Image() string { return kindImage }

// Up makes a cluster. Its API server listens on 127.0.0.1, so that a manager on
// this machine reaches it under the address that is in the kubeconfigs.
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

// kindConfig asks for the workers of the options. kind leaves a control plane
// free for pods only if it has no workers.
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

// kindCluster is a cluster that Kind made.
type kindCluster struct {
	provider *cluster.Provider
	name     string
	path     string
	config   *rest.Config
}

// Name of the cluster, without the prefix that it has for kind.
func (k *kindCluster) Name() string { return k.name }

// Kubeconfig is the path of the administrator's kubeconfig.
func (k *kindCluster) Kubeconfig() string { return k.path }

// Config is that of an administrator's client.
func (k *kindCluster) Config() *rest.Config { return rest.CopyConfig(k.config) }

// KubeconfigFor makes a kubeconfig of a ServiceAccount.
func (k *kindCluster) KubeconfigFor(ctx context.Context, namespace, serviceAccount string, ttl time.Duration) ([]byte, error) {
	return kubeconfigFor(ctx, k.config, namespace, serviceAccount, ttl)
}

// SaveLogs puts in the directory what kind export logs does.
func (k *kindCluster) SaveLogs(_ context.Context, directory string) error {
	return k.provider.CollectLogs(kindPrefix+k.name, directory)
}

// Down is no error when there is no such cluster: kind sees to that.
func (k *kindCluster) Down(context.Context) error {
	return k.provider.Delete(kindPrefix+k.name, k.path)
}
