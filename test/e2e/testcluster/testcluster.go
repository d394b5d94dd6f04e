// Package testcluster starts the clusters of the end-to-end tests, in one of two ways. Local uses the
// programs in bin/kube on this machine, and Kind uses kind, in containers. The tests need not know which.
//
// Local needs no Docker and starts in seconds. The nodes of its clusters are kwok's and run nothing, except
// in clusters that request a real node: a kubelet on containerd (package node), which needs root on Linux.
// Kind needs Docker, Podman or nerdctl, and images from the internet; all of its nodes are real.
package testcluster

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/rest"
)

// Cluster is what the tests need of a cluster.
type Cluster interface {
	Name() string
	// Config returns the administrator's client config, without a rate limit.
	Config() *rest.Config
	// Kubeconfig returns the path of the administrator's kubeconfig.
	Kubeconfig() string
	// KubeconfigFor returns a self-contained kubeconfig of a ServiceAccount, whose token is valid for ttl.
	KubeconfigFor(ctx context.Context, namespace, serviceAccount string, ttl time.Duration) ([]byte, error)
	// SaveLogs writes the logs of the cluster's programs into a directory.
	SaveLogs(ctx context.Context, directory string) error
	// Down ends the cluster, and removes everything that it has on the machine.
	Down(ctx context.Context) error
}

// Options say what cluster Up starts.
type Options struct {
	// Name of the cluster: a DNS label.
	Name string
	// Nodes is the number of nodes besides the control plane.
	Nodes int
	// Real requests nodes that run containers. Local then has only one node.
	Real bool
	// Storage requests a CSI driver on a real node of Local. Kind ignores it.
	Storage bool
	// Images are archives of images that a real node has from the beginning. Kind ignores them.
	Images []string
	// NodeGrace is how long a node's Lease may go unrenewed before the node is NotReady. Default: Kubernetes'
	// own. Kind ignores it.
	NodeGrace time.Duration
	// Programs is the folder of the control plane's programs. Default: bin/kube in the repository. Kind
	// ignores it.
	Programs string
	// Log receives one line for each step.
	Log io.Writer
}

// Factory starts clusters.
type Factory interface {
	// Up starts a cluster, and waits until it is ready. It replaces a left-over cluster of that name.
	Up(ctx context.Context, o Options) (Cluster, error)
	// RealNodes returns why no node can run containers here, or nil.
	RealNodes() error
	// Image returns an image with a shell that every real node has or can pull.
	Image() string
}

// For returns the factory that E2E_CLUSTERS names: local (the default) or kind. The factory's files go below
// the directory.
func For(name, directory string) (Factory, error) {
	switch name {
	case "", "local":
		return &Local{Dir: directory}, nil
	case "kind":
		return &Kind{Dir: directory}, nil
	}
	return nil, fmt.Errorf("E2E_CLUSTERS is %q: there are local (the default) and kind", name)
}
