package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	offloadingv1alpha1 "github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/clusters"
)

const consumer = "consumer"

var (
	providers    = []string{"eu", "us"}
	clusterNames = append([]string{consumer}, providers...)
)

// nodeGrace on the consumer is short, so that a user can watch a virtual node become NotReady after its
// provider is cut off.
const nodeGrace = 12 * time.Second

// podRanges are the address ranges of each cluster's pods, in the form that network.podCIDRs of a binding
// needs. No two clusters share a range.
var podRanges = map[string]string{consumer: "10.11.0.0/24", "eu": "10.12.0.0/24", "us": "10.13.0.0/24"}

func (d *demo) options(name string) clusters.Options {
	o := clusters.Options{Name: name, Dir: d.dir, Components: clusters.AllComponents(), PodCIDR: podRanges[name]}
	count := 3
	if name == consumer {
		count, o.NodeGrace = 2, nodeGrace
	}
	o.PlayContainers, o.PlayIngresses, o.MakeVolumes = name != consumer, name == "eu", name == "eu"
	for i := range count {
		o.Nodes = append(o.Nodes, clusters.Node{Name: fmt.Sprintf("%s-node-%d", name, i+1), CPU: "16", Memory: "64Gi"})
	}
	return o
}

// ensureClusters repairs the clusters if they all exist, or else creates all of them. A new consumer would be
// a stranger to providers that served the one before.
func (d *demo) ensureClusters(ctx context.Context) error {
	found, err := d.openAll()
	if err != nil {
		return err
	}
	each := d.heal
	if found == nil {
		d.say("starting the clusters %s", strings.Join(clusterNames, ", "))
		if err := d.stopManager(ctx); err != nil {
			return err
		}
		found, each = map[string]*clusters.Cluster{}, d.create
	}
	if err := d.forEachCluster(ctx, found, each); err != nil {
		return err
	}
	d.clusters = found
	for name, c := range d.clusters {
		if err := copyFile(c.Kubeconfig, d.kubeconfig(name)); err != nil {
			return fmt.Errorf("copying the kubeconfig of cluster %s: %w", name, err)
		}
	}
	return d.connect()
}

// openAll returns all clusters, or nil when one of them does not exist.
func (d *demo) openAll() (map[string]*clusters.Cluster, error) {
	found := map[string]*clusters.Cluster{}
	for _, name := range clusterNames {
		c, err := clusters.Open(d.options(name))
		if errors.Is(err, clusters.ErrNotFound) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w (make demo-down removes it)", err)
		}
		found[name] = c
	}
	return found, nil
}

// forEachCluster runs do for all clusters at once, and collects the results.
func (d *demo) forEachCluster(ctx context.Context, all map[string]*clusters.Cluster,
	do func(context.Context, string, *clusters.Cluster) (*clusters.Cluster, error),
) error {
	var (
		mutex sync.Mutex
		group sync.WaitGroup
		errs  []error
	)
	for _, name := range clusterNames {
		existing := all[name]
		group.Go(func() {
			c, err := do(ctx, name, existing)
			mutex.Lock()
			defer mutex.Unlock()
			all[name] = c
			errs = append(errs, err)
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

func (d *demo) create(ctx context.Context, name string, _ *clusters.Cluster) (*clusters.Cluster, error) {
	c, err := clusters.Up(ctx, d.options(name))
	if err == nil {
		d.say("cluster %s is ready", name)
	}
	return c, err
}

func (d *demo) heal(ctx context.Context, name string, c *clusters.Cluster) (*clusters.Cluster, error) {
	running, err := c.Running()
	if err != nil {
		return nil, err
	}
	if len(running) < len(clusters.AllComponents()) {
		d.say("cluster %s: starting what does not run", name)
		err = c.StartAPIServer(ctx)
	} else {
		err = c.WaitReady(ctx)
	}
	if err == nil {
		d.say("cluster %s is ready", name)
	}
	return c, err
}

func (d *demo) connect() error {
	scheme, err := newScheme()
	if err != nil {
		return err
	}
	for name, c := range map[string]*client.Client{consumer: &d.consumer, "eu": &d.eu} {
		if *c, err = client.New(d.clusters[name].Config(), client.Options{Scheme: scheme}); err != nil {
			return fmt.Errorf("making a client for cluster %s: %w", name, err)
		}
	}
	return nil
}

func newScheme() (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	return scheme, errors.Join(clientgoscheme.AddToScheme(scheme), offloadingv1alpha1.AddToScheme(scheme), gatewayv1.Install(scheme))
}

func copyFile(from, to string) error {
	raw, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, raw, 0o600)
}
