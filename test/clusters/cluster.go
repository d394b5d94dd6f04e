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

// ErrNotFound is returned by Open for a cluster that does not exist.
var ErrNotFound = errors.New("no such cluster")

// A Cluster is one that Up made or Open found. Its methods may be called from
// several goroutines; they act on processes and files, not on memory.
type Cluster struct {
	Name string
	// Kubeconfig is the path of a self-contained kubeconfig of the administrator.
	Kubeconfig string
	// Logs is the directory with one log for each component; that of the run
	// before the last start has .previous in its name.
	Logs string

	dir, root, binDir string
	state             state
	config            *rest.Config
	client            kubernetes.Interface
}

// state is what Open needs to know of a cluster beyond kwokctl's own files.
type state struct {
	Components []Component
	APIServer  int
	// Health is where each component besides etcd and kube-apiserver tells
	// that it is well.
	Health map[Component]string
}

const stateFile = "spillway.json"

// clientTimeout bounds the requests of this package itself, so that an API
// server that hangs is an error also where nobody has set a deadline.
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

// Open returns the existing cluster o.Name of o.Dir, running or not; nothing but
// Name, Dir and BinDir of o is used.
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

// connect makes the client from the kubeconfig.
func (c *Cluster) connect() error {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of cluster %s: %w", c.Name, err)
	}
	// Without this client-go would allow 5 requests a second.
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

// Config returns a new configuration of an administrator's client, without a
// rate limit.
func (c *Cluster) Config() *rest.Config { return rest.CopyConfig(c.config) }

// AuditLog is the path of the audit log, if Options.AuditPolicy was set.
func (c *Cluster) AuditLog() string { return filepath.Join(c.Logs, "audit.log") }

// Running lists the components whose processes exist, paused ones included.
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

// Start starts what does not run of an existing cluster, on the same ports and
// data, and waits until all of it is ready.
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

// Down ends all processes and deletes all files of the cluster, as much as there
// is of them.
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

// Down takes down the cluster o.Name of o.Dir, whatever there is of it; that
// there is nothing is no error.
func Down(ctx context.Context, o Options) error {
	o, err := Options{Name: o.Name, Dir: o.Dir, BinDir: o.BinDir}.complete()
	if err != nil {
		return err
	}
	return handle(o.Dir, o.BinDir, o.Name).Down(ctx)
}

// poll calls try until it returns nil, at most for timeout. The error that it
// returns in the end says what was still missing.
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
