package testcluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/spillway-io/spillway/test/clusters"
	"github.com/spillway-io/spillway/test/e2e/image"
	"github.com/spillway-io/spillway/test/e2e/node"
)

// localImage is not in any registry: each real node gets it as a file.
const localImage = "images.spillway.test/busybox:1"

// Local starts clusters from the programs in bin/kube.
type Local struct {
	// Dir has the clusters and the logs of nodes.
	Dir string
}

// RealNodes returns why no node can run containers here, or nil.
func (*Local) RealNodes() error { return node.Supported() }

// Image returns an image with busybox.
func (*Local) Image() string { return localImage }

// Up starts a cluster and its real node.
func (l *Local) Up(ctx context.Context, o Options) (Cluster, error) {
	cluster, err := clusters.Up(ctx, l.options(o))
	if err != nil {
		return nil, err
	}
	made := &local{Cluster: cluster}
	if !o.Real {
		return made, nil
	}
	if made.node, err = l.startNode(ctx, cluster, o); err != nil {
		logs := filepath.Join(l.Dir, "logs", o.Name)
		return nil, errors.Join(fmt.Errorf("%w; its logs are kept in %s", err, logs),
			made.SaveLogs(ctx, logs), made.Down(context.WithoutCancel(ctx)))
	}
	return made, nil
}

func (l *Local) options(o Options) clusters.Options {
	options := clusters.Options{
		Name: o.Name, Dir: l.Dir, BinDir: o.Programs, NodeGrace: o.NodeGrace, Log: o.Log,
		Components: clusters.AllComponents(),
	}
	pki := filepath.Join(l.Dir, "clusters", o.Name, "pki")
	// With these, metrics-server trusts the requests that the API server forwards. kwokctl leaves them out.
	options.APIServerArgs = map[string]string{
		"requestheader-client-ca-file":       filepath.Join(pki, "ca.crt"),
		"requestheader-allowed-names":        "kwok-admin",
		"requestheader-username-headers":     "X-Remote-User",
		"requestheader-group-headers":        "X-Remote-Group",
		"requestheader-extra-headers-prefix": "X-Remote-Extra-",
	}
	if !o.Real {
		for i := range o.Nodes {
			options.Nodes = append(options.Nodes, clusters.Node{Name: fmt.Sprintf("%s-node-%d", o.Name, i+1)})
		}
		return options
	}
	options.Components = []clusters.Component{clusters.KubeControllerManager, clusters.KubeScheduler}
	// kwokctl leaves out both, because its kubelets check nobody: the certificate with which the API server
	// requests logs from the kubelet, and the key that signs the certificates of nodes.
	maps.Copy(options.APIServerArgs, map[string]string{
		"kubelet-client-certificate":      filepath.Join(pki, "admin.crt"),
		"kubelet-client-key":              filepath.Join(pki, "admin.key"),
		"kubelet-preferred-address-types": "InternalIP",
		// It would publish 127.0.0.1, which containers cannot use: see leadToAPIServer.
		"endpoint-reconciler-type": "none",
	})
	options.ControllerManagerArgs = map[string]string{
		"cluster-signing-cert-file": filepath.Join(pki, "ca.crt"),
		"cluster-signing-key-file":  filepath.Join(pki, "ca.key"),
	}
	return options
}

func (l *Local) startNode(ctx context.Context, cluster *clusters.Cluster, o Options) (*node.Node, error) {
	root, err := clusters.Root()
	if err != nil {
		return nil, err
	}
	busybox, err := node.Busybox()
	if err != nil {
		return nil, err
	}
	archive := filepath.Join(l.Dir, "busybox.tar")
	if err := image.Write(archive, localImage, busybox); err != nil {
		return nil, err
	}
	csi := ""
	if o.Storage {
		csi = filepath.Join(root, "bin", "csi")
	}
	made, err := node.Start(ctx, node.Options{
		Name:         o.Name + "-node-1",
		CSI:          csi,
		Cluster:      cluster.Config(),
		Programs:     filepath.Join(root, "bin", "kube"),
		Images:       append([]string{archive}, o.Images...),
		SandboxImage: localImage,
		Logs:         filepath.Join(cluster.Logs, "node"),
		Log:          o.Log,
	})
	if err != nil {
		return nil, err
	}
	if err := leadToAPIServer(ctx, cluster.Config(), made.APIServer()); err != nil {
		return nil, errors.Join(err, made.Stop(context.WithoutCancel(ctx)))
	}
	return made, nil
}

// leadToAPIServer makes the Service default/kubernetes lead to the API server's address for containers.
func leadToAPIServer(ctx context.Context, cluster *rest.Config, server netip.AddrPort) error {
	api, err := kubernetes.NewForConfig(cluster)
	if err != nil {
		return err
	}
	_, err = api.DiscoveryV1().EndpointSlices(metav1.NamespaceDefault).Create(ctx, &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "kubernetes", Labels: map[string]string{discoveryv1.LabelServiceName: "kubernetes"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{server.Addr().String()}}},
		Ports:       []discoveryv1.EndpointPort{{Name: new("https"), Port: new(int32(server.Port()))}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("making EndpointSlice default/kubernetes: %w", err)
	}
	return nil
}

// local is a cluster that Local has started. node is nil without a real node.
type local struct {
	*clusters.Cluster
	node *node.Node
}

// Name returns the name of the cluster.
func (l *local) Name() string { return l.Cluster.Name }

// Reach returns an address at which containers of the real node reach a server on 127.0.0.1 of the machine.
func (l *local) Reach(server string) (netip.AddrPort, error) {
	if l.node == nil {
		return netip.AddrPort{}, fmt.Errorf("cluster %s has no real node", l.Name())
	}
	return l.node.Reach(server)
}

// Kubeconfig returns the path of the administrator's kubeconfig.
func (l *local) Kubeconfig() string { return l.Cluster.Kubeconfig }

// SaveLogs copies the logs, including the logs of the real node.
func (l *local) SaveLogs(_ context.Context, directory string) error {
	if err := os.RemoveAll(directory); err != nil {
		return err
	}
	return os.CopyFS(directory, os.DirFS(l.Logs))
}

// Down ends the real node first, because it would log errors about its API server.
func (l *local) Down(ctx context.Context) error {
	var errs []error
	if l.node != nil {
		errs = append(errs, l.node.Stop(ctx))
	}
	return errors.Join(append(errs, l.Cluster.Down(ctx))...)
}
