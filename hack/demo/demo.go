package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/clusters"
)

// The names that the manifests of config/ use.
const (
	systemNamespace        = "spillway-system"
	managerServiceAccount  = "spillway-manager"
	providerNamespace      = "spillway-provider"
	providerServiceAccount = "spillway-consumer"
)

// tokenLifetime is long enough for a demo that runs for several days. Every up creates new tokens.
const tokenLifetime = 30 * 24 * time.Hour

// A demo is the content of bin/demo. It holds only state that up can find again, so every command works on
// any demo that exists.
type demo struct {
	root, dir string
	begin     time.Time
	clusters  map[string]*clusters.Cluster
	// consumer and eu talk to these clusters as their administrators.
	consumer, eu client.Client
}

func newDemo() (*demo, error) {
	root, err := clusters.Root()
	if err != nil {
		return nil, err
	}
	return &demo{root: root, dir: filepath.Join(root, "bin", "demo"), begin: time.Now()}, nil
}

// up brings everything into the state that the demo shows, even if parts of it exist already.
func (d *demo) up(ctx context.Context) error {
	if err := d.checkBuilt(); err != nil {
		return err
	}
	if err := d.ensureClusters(ctx); err != nil {
		return err
	}
	if err := d.install(ctx); err != nil {
		return err
	}
	if err := d.checkBindings(ctx); err != nil {
		return err
	}
	if err := d.handOverCredentials(ctx); err != nil {
		return err
	}
	if err := d.restartManager(ctx); err != nil {
		return err
	}
	if err := d.applySamples(ctx); err != nil {
		return err
	}
	if err := d.waitUntilReady(ctx); err != nil {
		return err
	}
	if err := d.applyApps(ctx); err != nil {
		return err
	}
	if err := d.waitForApps(ctx); err != nil {
		return err
	}
	return d.show(ctx)
}

// down also works on an incomplete demo: each step handles whatever it finds.
func (d *demo) down(ctx context.Context) error {
	d.say("stopping the manager")
	errs := []error{d.stopManager(ctx)}
	volumes := d.volumes(ctx)
	for _, name := range clusterNames {
		d.say("taking down cluster %s", name)
		errs = append(errs, clusters.Down(ctx, d.options(name)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(d.dir), removeVolumes(volumes)); err != nil {
		return fmt.Errorf("removing the demo's files: %w", err)
	}
	d.say("nothing of the demo is left")
	return nil
}

func (d *demo) kill(ctx context.Context, name string) error {
	c, err := clusters.Open(d.options(name))
	if err != nil {
		return err
	}
	if err := c.KillAPIServer(ctx); err != nil {
		return err
	}
	d.say("the API server of %s is dead; bring it back with: go run ./hack/demo start %s", name, name)
	return nil
}

func (d *demo) start(ctx context.Context, name string) error {
	c, err := clusters.Open(d.options(name))
	if err != nil {
		return err
	}
	d.say("starting the API server of %s", name)
	if err := c.StartAPIServer(ctx); err != nil {
		return err
	}
	d.say("cluster %s is ready", name)
	return nil
}

// checkBuilt fails if a file is missing that make demo builds before it runs this program.
func (d *demo) checkBuilt() error {
	for _, file := range []string{filepath.Join(d.root, "bin", "manager"), d.manifest("install.yaml"), d.manifest("provider.yaml")} {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("%s is missing: run `make demo`, which builds it first (%w)", d.relative(file), err)
		}
	}
	return clusters.CheckBinaries()
}

func (d *demo) whereToLook() string {
	return fmt.Sprintf("Logs: %s (the manager)\n      %s (the control planes)\nStart over with: make demo-down && make demo",
		d.relative(d.managerLog()), d.relative(filepath.Join(d.dir, "clusters", "*", "logs")))
}

// relative makes a path relative to the repository, which is shorter for the reader.
func (d *demo) relative(path string) string {
	if short, err := filepath.Rel(d.root, path); err == nil {
		return short
	}
	return path
}

// manifest is the path of a manifest that make demo writes only for the demo. The manifests in dist/ may be
// the user's own, for another image.
func (d *demo) manifest(name string) string { return filepath.Join(d.dir, "dist", name) }

func (d *demo) kubeconfig(name string) string { return filepath.Join(d.dir, name+".kubeconfig") }

func (d *demo) say(format string, args ...any) {
	fmt.Printf("[%3.0fs] %s\n", time.Since(d.begin).Seconds(), fmt.Sprintf(format, args...))
}
