package clusters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// ErrNotFound is the error of Open for a cluster that does not exist.
var ErrNotFound = errors.New("no such cluster")

// Cluster is a cluster from Up or Open. Its methods are safe for concurrent use; they act on processes and
// files, not on memory.
type Cluster struct {
	Name string
	// Kubeconfig is the path of a self-contained kubeconfig of the administrator.
	Kubeconfig string
	// Logs is the directory with one log for each component. The log of the run before the last start has
	// .previous in its name.
	Logs string

	dir, root, binDir string
	state             state
	config            *rest.Config
	client            kubernetes.Interface
}

// state is what Open needs to know of a cluster, beyond kwokctl's own files.
type state struct {
	Components []Component
	APIServer  int
	// Health has the health endpoints of the components, except etcd and kube-apiserver.
	Health map[Component]string
}

const stateFile = "spillway.json"

// clientTimeout bounds the requests of this package itself. So a hanging API server is an error even without
// a deadline.
const clientTimeout = 30 * time.Second

// handle returns a Cluster for a directory, which need not exist yet.
func handle(root, binDir, name string) *Cluster {
	dir := filepath.Join(root, "clusters", name) // kwokctl's layout
	return &Cluster{
		Name:       name,
		Kubeconfig: filepath.Join(dir, "admin.kubeconfig"),
		Logs:       filepath.Join(dir, "logs"),
		dir:        dir, root: root, binDir: binDir,
	}
}

// Open returns the existing cluster o.Name in o.Dir, running or not. It uses only Name, Dir and BinDir of o.
func Open(o Options) (*Cluster, error) {
	o, err := Options{Name: o.Name, Dir: o.Dir, BinDir: o.BinDir}.complete()
	if err != nil {
		return nil, err
	}
	c := handle(o.Dir, o.BinDir, o.Name)
	raw, err := os.ReadFile(filepath.Join(c.dir, stateFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("cluster %s in %s: %w", o.Name, o.Dir, ErrNotFound)
	}
	if err == nil {
		err = json.Unmarshal(raw, &c.state)
	}
	if err == nil {
		err = c.connect()
	}
	if err != nil {
		return nil, fmt.Errorf("opening cluster %s: %w", o.Name, err)
	}
	return c, nil
}

func (c *Cluster) saveState() error {
	raw, err := json.Marshal(c.state)
	if err == nil {
		err = os.WriteFile(filepath.Join(c.dir, stateFile), raw, 0o600)
	}
	if err != nil {
		return fmt.Errorf("cluster %s: saving its state: %w", c.Name, err)
	}
	return nil
}

// connect creates the client from the kubeconfig.
func (c *Cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of cluster %s: %w", c.Name, err)
	}
	// By default, client-go allows only 5 requests a second.
	config.QPS = -1
	c.config = config
	bounded := rest.CopyConfig(config)
	bounded.Timeout = clientTimeout
	c.client, err = kubernetes.NewForConfig(bounded)
	if err != nil {
		return fmt.Errorf("making a client for cluster %s: %w", c.Name, err)
	}
	return nil
}

// Config returns a new client config of the administrator, without a rate limit.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// AuditLog returns the path of the audit log, if Options.AuditPolicy was set.
func (c *Cluster) AuditLog() string { return filepath.Join(c.Logs, "audit.log") }

// Running lists the components whose processes exist, including paused ones.
func (c *Cluster) Running() ([]Component, error) {
	processes, err := processesIn(c.dir)
	if err != nil {
		return nil, err
	}
	var running []Component
	for _, p := range processes {
		running = append(running, p.component)
	}
	slices.Sort(running)
	return running, nil
}

// Start starts the components of an existing cluster that do not run, on the same ports and data. It waits
// until all are ready.
func (c *Cluster) Start(ctx context.Context) error {
	if err := c.startMissing(ctx); err != nil {
		return err
	}
	return c.waitReady(ctx, defaultTimeout)
}

func (c *Cluster) startMissing(ctx context.Context) error {
	if err := c.forgetPIDs(); err != nil {
		return err
	}
	if err := c.keepLogs(); err != nil {
		return err
	}
	if err := c.kwokctl(ctx, "start", "cluster"); err != nil {
		return fmt.Errorf("starting cluster %s: %w", c.Name, err)
	}
	return nil
}

// Stop ends all processes and keeps the data: Start continues.
func (c *Cluster) Stop(ctx context.Context) error {
	if err := c.kill(ctx, AllComponents()...); err != nil {
		return fmt.Errorf("stopping cluster %s: %w", c.Name, err)
	}
	return c.forgetPIDs()
}

// Down ends all processes and deletes all files of the cluster that exist.
func (c *Cluster) Down(ctx context.Context) error {
	if err := c.kill(ctx, AllComponents()...); err != nil {
		return fmt.Errorf("taking down cluster %s: %w", c.Name, err)
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("taking down cluster %s: %w", c.Name, err)
	}
	disown(c.root, c.Name)
	return nil
}

// Down ends and deletes the cluster o.Name in o.Dir. If it does not exist, that is no error.
func Down(ctx context.Context, o Options) error {
	o, err := Options{Name: o.Name, Dir: o.Dir, BinDir: o.BinDir}.complete()
	if err != nil {
		return err
	}
	return handle(o.Dir, o.BinDir, o.Name).Down(ctx)
}

// poll calls try until it returns nil, for at most timeout. Its error says what was still missing.
func poll(ctx context.Context, timeout time.Duration, try func(context.Context) error) error {
	const interval = 100 * time.Millisecond
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		missing := try(ctx)
		var fatal *fatalError
		if missing == nil || errors.As(missing, &fatal) {
			return missing
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("gave up after %s: %w", time.Since(begin).Round(time.Second), missing)
		case <-ticker.C:
		}
	}
}
