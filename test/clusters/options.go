package clusters

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Component is one program of a cluster, by the name that Kubernetes gives it.
type Component string

// Etcd and KubeAPIServer are part of every cluster. The others must be in Options.
const (
	Etcd                  Component = "etcd"
	KubeAPIServer         Component = "kube-apiserver"
	KubeControllerManager Component = "kube-controller-manager"
	KubeScheduler         Component = "kube-scheduler"
	KwokController        Component = "kwok-controller"
)

// AllComponents lists the components of a cluster that schedules and runs pods, as far as kwok runs them.
func AllComponents() []Component {
	return []Component{Etcd, KubeAPIServer, KubeControllerManager, KubeScheduler, KwokController}
}

// KwokNodeLabel and KwokNodeValue mark the nodes that kwok manages.
const (
	KwokNodeLabel = "type"
	KwokNodeValue = "kwok"
)

// HostPathProvisioner is a provisioner in Kubernetes' own code, for tests and development.
const HostPathProvisioner = "kubernetes.io/host-path"

// HostPathVolumes is where it creates volumes. The path is part of its code.
const HostPathVolumes = "/tmp/hostpath_pv"

// Options say what cluster Up starts. Only Name is required.
type Options struct {
	// Name of the cluster: a DNS label, unique within Dir.
	Name string
	// Dir has all clusters of a user of this package. Default: bin/clusters in the repository.
	Dir string
	// BinDir has the programs. Default: bin/kube in the repository.
	BinDir string
	// Components besides etcd and kube-apiserver. Default: none.
	Components []Component
	// APIServerArgs and ControllerManagerArgs are flags without the dashes. They override the flags that this
	// package and kwokctl set.
	APIServerArgs         map[string]string
	ControllerManagerArgs map[string]string
	// AuditPolicy, if set, is an audit policy in YAML. The log is at Cluster.AuditLog.
	AuditPolicy string
	// Nodes are nodes that Up creates and waits for until they are Ready. They need KwokController among the
	// Components.
	Nodes []Node
	// PodCIDR is the range of the pod addresses that kwok assigns. Default: kwok's, 10.0.0.0/24, in all
	// clusters.
	PodCIDR string
	// PlayContainers makes kwok play containers for kubectl logs, exec, attach and port-forward. It runs the
	// commands of exec on this machine, for anybody who can connect to it at 127.0.0.1.
	PlayContainers bool
	// PlayIngresses makes kwok play an ingress controller: each Ingress of the class public gets the address
	// 203.0.113.10.
	PlayIngresses bool
	// MakeVolumes makes kube-controller-manager create a volume for each claim of a StorageClass with the
	// provisioner HostPathProvisioner. Each is a directory in HostPathVolumes of this machine, and is deleted
	// with its claim.
	MakeVolumes bool
	// NodeGrace is how long a node may stay silent before the controller manager marks it NotReady; at least
	// 4s. kwok renews the Leases of its nodes four times in that time. Default: Kubernetes' 40s.
	NodeGrace time.Duration
	// Timeout bounds each attempt of Up. Default: 2 minutes.
	Timeout time.Duration
	// Log receives one line for each step. Default: nothing is written.
	Log io.Writer
}

// Node is a node that kwok plays. Up adds the label type=kwok.
type Node struct {
	Name string
	// CPU, Memory and Pods are quantities. Defaults: 32, 256Gi, 110.
	CPU, Memory, Pods string
	Labels            map[string]string
}

const (
	defaultNodeGrace = 40 * time.Second
	minNodeGrace     = 4 * time.Second
	defaultTimeout   = 2 * time.Minute
)

var nameRegexp = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// complete validates o and fills in the defaults.
func (o Options) complete() (Options, error) {
	if !nameRegexp.MatchString(o.Name) {
		return o, fmt.Errorf("cluster name %q is not a DNS label", o.Name)
	}
	var err error
	if o.Dir, o.BinDir, err = defaultDirs(o.Dir, o.BinDir); err != nil {
		return o, err
	}
	for _, c := range o.Components {
		if !slices.Contains(AllComponents(), c) {
			return o, fmt.Errorf("cluster %s: unknown component %q", o.Name, c)
		}
	}
	if len(o.Nodes) > 0 && !o.has(KwokController) {
		return o, fmt.Errorf("cluster %s: nodes need the component %s", o.Name, KwokController)
	}
	if o.NodeGrace == 0 {
		o.NodeGrace = defaultNodeGrace
	}
	if o.NodeGrace < minNodeGrace {
		return o, fmt.Errorf("cluster %s: NodeGrace %s is shorter than %s", o.Name, o.NodeGrace, minNodeGrace)
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.Log == nil {
		o.Log = io.Discard
	}
	return o, nil
}

// has reports whether the cluster should have component c.
func (o Options) has(c Component) bool {
	return c == Etcd || c == KubeAPIServer || slices.Contains(o.Components, c)
}

// components lists the components that the cluster should have, in the order of starting.
func (o Options) components() []Component {
	return slices.DeleteFunc(AllComponents(), func(c Component) bool { return !o.has(c) })
}

func defaultDirs(dir, binDir string) (string, string, error) {
	if dir == "" || binDir == "" {
		root, err := Root()
		if err != nil {
			return "", "", err
		}
		if dir == "" {
			dir = filepath.Join(root, "bin", "clusters")
		}
		if binDir == "" {
			binDir = filepath.Join(root, "bin", "kube")
		}
	}
	absDir, err1 := filepath.Abs(dir)
	absBinDir, err2 := filepath.Abs(binDir)
	return absDir, absBinDir, errors.Join(err1, err2)
}
