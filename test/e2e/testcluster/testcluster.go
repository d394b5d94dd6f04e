// Package testcluster makes the clusters of the end-to-end tests, in one of two
// ways that the tests need not tell apart: out of the programs in bin/kube on
// this machine (Local), or with kind, in containers (Kind).
//
// Local needs no Docker and starts in seconds. The nodes of its clusters are
// kwok's, which run nothing, but for clusters that ask for a real node: that is
// a kubelet on containerd (package node), for which it takes root on Linux.
// Kind needs Docker, Podman or nerdctl and images from the internet; each of its
// nodes is a real one.
package testcluster

import (
	"context"
	"fmt"
	"io"
	"time"

	"k8s.io/client-go/rest"
)

// A Cluster is what the tests use of one.
type Cluster interface {
	Name() string
	// Config is that of an administrator's client, without a rate limit.
	Config() *rest.Config
	// Kubeconfig is the path of the administrator's kubeconfig.
	Kubeconfig() string
	// KubeconfigFor makes a self-contained kubeconfig of a ServiceAccount, whose
	// token is valid for ttl.
	KubeconfigFor(ctx context.Context, namespace, serviceAccount string, ttl time.Duration) ([]byte, error)
	// SaveLogs puts the logs of the cluster's programs into a directory.
	SaveLogs(ctx context.Context, directory string) error
	// Down takes the cluster down, with all that it has on the machine.
	Down(ctx context.Context) error
}

// Options say what cluster Up makes.
type Options struct {
	// Name of the cluster: a DNS label.
	Name string
	// Nodes is how many nodes there are besides the control plane.
	Nodes int
	// Real asks for nodes that run containers. Only one node then, in Local.
	Real bool
	// Images are archives that a real node has from the beginning. Kind disregards them.
	Images []string
	// NodeGrace is how long the lease of a node may be silent before it is
	// NotReady. Default: that of Kubernetes. Kind disregards it.
	NodeGrace time.Duration
	// Programs is the folder of those of the control plane. Default: bin/kube in the
	// repository. Kind disregards it.
	Programs string
	// Log receives one line for each step.
	Log io.Writer
}

// A Factory makes clusters.
type Factory interface {
	// Up makes a cluster, in place of one of that name which is left over, and
	// waits until it is ready.
	Up(ctx context.Context, o Options) (Cluster, error)
	// RealNodes says why no node can run containers here, or nothing.
	RealNodes() error
	// Image is one with a shell, which every real node has or can get.
	Image() string
}

// For returns the factory that E2E_CLUSTERS names: local, which is the default,
// or kind. What the factory keeps on disk goes below the directory.
func For(name, directory string) (Factory, error) {
	switch name {
	case "", "local":
		return &Local{Dir: directory}, nil
	case "kind":
		return &Kind{Dir: directory}, nil
	}
	return nil, fmt.Errorf("E2E_CLUSTERS is %q: there are local (the default) and kind", name)
}
