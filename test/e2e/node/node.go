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

// Options say what node Start creates. All are required except CSI, Labels and Log.
type Options struct {
	// Name of the Node.
	Name string
	// Cluster is the administrator's access to the cluster. For logs, its API server needs
	// --kubelet-client-certificate and --kubelet-client-key of a user with rights on nodes/proxy. Its
	// controller manager needs --cluster-signing-cert-file and --cluster-signing-key-file.
	Cluster *rest.Config
	// Programs is the directory of kubelet, kube-proxy and coredns.
	Programs string
	// CSI is the directory of a CSI driver and its sidecars (hack/csi). Default: the node has none.
	CSI string
	// Images are archives of the images that the node has from the beginning; there is no registry.
	// SandboxImage is the one for pod sandboxes.
	Images       []string
	SandboxImage string
	// Logs is the directory of node.log and of each program's log. They outlive the node.
	Logs   string
	Labels map[string]string
	// Log receives one line for each step.
	Log io.Writer
}

// readyPatience bounds Start. Importing images and starting the kubelet takes some 5 seconds on an idle
// machine.
const readyPatience = 2 * time.Minute

// Node is a node that Start has created.
type Node struct {
	Name string
	// Logs is the directory of the logs.
	Logs string

	id     identity
	dir    string
	subnet netip.Prefix
	// doors lead from the node to servers on the machine; the first leads to the API server.
	doors []net.Listener
	box   *box
	api   kubernetes.Interface
}

// Start creates a node and waits until it is Ready. If it fails, it leaves nothing but the logs.
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

// APIServer returns the address at which the node and its containers reach the API server.
func (n *Node) APIServer() netip.AddrPort { return addressOf(n.doors[0]) }

// Reach returns an address at which the node and its containers reach a server on 127.0.0.1 of the machine.
// server is its URL. The address lasts as long as the node.
func (n *Node) Reach(server string) (netip.AddrPort, error) {
	door, err := openDoor(machineAddress(n.subnet), server)
	if err != nil {
		return netip.AddrPort{}, err
	}
	n.doors = append(n.doors, door)
	return addressOf(door), nil
}

// waitReady waits until the kubelet reports the node as Ready.
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

// Stop ends everything that runs on the node, and removes it, except the logs. The Node object stays in the
// cluster.
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
