package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Options say what node Start makes. All are required but Labels and Log.
type Options struct {
	// Name of the Node.
	Name string
	// Cluster is how an administrator reaches the cluster. Its API server needs
	// --kubelet-client-certificate and --kubelet-client-key of somebody who may
	// use nodes/proxy, for logs; its controller manager the flags
	// --cluster-signing-cert-file and --cluster-signing-key-file.
	Cluster *rest.Config
	// Programs is the directory of kubelet, kube-proxy and coredns.
	Programs string
	// Images are archives that the node has from the beginning; there is no
	// registry. SandboxImage is the one among them that pod sandboxes get.
	Images       []string
	SandboxImage string
	// Logs is the directory of node.log and of a log for each program, which outlive
	// the node.
	Logs   string
	Labels map[string]string
	// Log receives one line for each step.
	Log io.Writer
}

// readyPatience bounds Start: importing images and starting the kubelet takes
// some 5 seconds, on a machine with nothing else to do.
const readyPatience = 2 * time.Minute

// A Node is one that Start made.
type Node struct {
	Name string
	// Logs is where the logs are.
	Logs string

	id     identity
	dir    string
	subnet netip.Prefix
	// doors are what the node reaches of the machine; the first leads to the API server.
	doors []net.Listener
	box   *box
	api   kubernetes.Interface
}

// Start makes a node and waits until it is Ready. When it fails, nothing is left
// but the logs.
func Start(ctx context.Context, o Options) (*Node, error) {
	if err := Supported(); err != nil {
		return nil, err
	}
	if err := sweep(ctx); err != nil {
		return nil, fmt.Errorf("removing what earlier nodes have left: %w", err)
	}
	api, err := kubernetes.NewForConfig(o.Cluster)
	if err != nil {
		return nil, fmt.Errorf("node %s: %w", o.Name, err)
	}
	if err := visible(o); err != nil {
		return nil, fmt.Errorf("node %s: %w", o.Name, err)
	}
	n := &Node{Name: o.Name, Logs: o.Logs, id: newIdentity(), api: api}
	n.dir = n.id.directory()
	if err := n.start(ctx, o); err != nil {
		return nil, errors.Join(fmt.Errorf("starting node %s: %w", o.Name, err), n.Stop(context.WithoutCancel(ctx)))
	}
	return n, nil
}

func (n *Node) start(ctx context.Context, o Options) error {
	if o.Log == nil {
		o.Log = io.Discard
	}
	begin := time.Now()
	if err := errors.Join(os.Mkdir(n.dir, 0o700), os.MkdirAll(o.Logs, 0o750)); err != nil {
		return err
	}
	var err error
	if n.subnet, err = makeLink(ctx, n.id); err != nil {
		return err
	}
	if _, err := n.Reach(o.Cluster.Host); err != nil {
		return err
	}
	settings, err := n.settings(ctx, o, n.subnet)
	if err != nil {
		return err
	}
	fmt.Fprintf(o.Log, "node %s: starting containerd, kubelet, kube-proxy and CoreDNS; logs are in %s\n", n.Name, n.Logs)
	n.box, err = startBox(n.dir, filepath.Join(n.Logs, "node.log"), settings,
		func(pid int) error { return n.id.joinNode(ctx, pid) })
	if err != nil {
		return err
	}
	if err := n.waitReady(ctx); err != nil {
		return err
	}
	fmt.Fprintf(o.Log, "node %s: ready after %.1fs\n", n.Name, time.Since(begin).Seconds())
	return nil
}

// APIServer is the address by which the node and its containers reach the API server.
func (n *Node) APIServer() netip.AddrPort { return addressOf(n.doors[0]) }

// Reach returns the address by which the node and its containers reach a server, given by
// its URL, that listens on 127.0.0.1 of the machine. It lasts as long as the node.
func (n *Node) Reach(server string) (netip.AddrPort, error) {
	door, err := openDoor(machineAddress(n.subnet), server)
	if err != nil {
		return netip.AddrPort{}, err
	}
	n.doors = append(n.doors, door)
	return addressOf(door), nil
}

// waitReady waits until the kubelet says that the node is Ready.
func (n *Node) waitReady(ctx context.Context) error {
	return await(ctx, readyPatience, func(ctx context.Context) error {
		if err := n.box.running(); err != nil {
			return &finalError{fmt.Errorf("%w\n%s", err, n.logTails())}
		}
		node, err := n.api.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range node.Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
				return fmt.Errorf("the node is not Ready: %s: %s", condition.Reason, condition.Message)
			}
			if condition.Type == corev1.NodeReady {
				return nil
			}
		}
		return errors.New("the kubelet has not said yet whether the node is Ready")
	})
}

// Stop ends all that runs on the node and removes what there is of it, but for
// the logs. The Node object stays in the cluster.
func (n *Node) Stop(ctx context.Context) error {
	var errs []error
	if n.box != nil {
		errs = append(errs, n.box.stop())
	}
	for _, door := range n.doors {
		errs = append(errs, door.Close())
	}
	errs = append(errs, n.id.remove(ctx))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stopping node %s: %w", n.Name, err)
	}
	return nil
}
