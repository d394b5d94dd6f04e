package clusters

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// attempts is how often Up tries. Another program may take a chosen port right before a component listens on
// it.
const attempts = 3

// Up starts a cluster and waits until it is ready. First it deletes a left-over cluster of the same name,
// with its processes. If Up fails, nothing runs, and the logs stay until the next Up or Down.
func Up(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	if err := checkBinaries(o.BinDir); err != nil {
		return nil, err
	}
	if err := own(o.Dir, o.Name); err != nil {
		return nil, err
	}
	c := handle(o.Dir, o.BinDir, o.Name)
	for attempt := 1; ; attempt++ {
		err = c.create(ctx, o)
		if err == nil {
			return c, nil
		}
		// A cancelled context must not keep the processes alive.
		if stopErr := c.Stop(context.WithoutCancel(ctx)); stopErr != nil {
			err = errors.Join(err, stopErr)
		}
		if attempt == attempts || !mayGoBetter(err) {
			disown(o.Dir, o.Name)
			return nil, fmt.Errorf("bringing up cluster %s: %w", o.Name, err)
		}
		c.logf(o, "trying again: %v", err)
	}
}

// create is one attempt of Up.
func (c *Cluster) create(ctx context.Context, o Options) error {
	started, err := c.awaitStart(ctx)
	if err != nil {
		return err
	}
	defer started()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if err := c.kill(ctx, AllComponents()...); err != nil {
		return fmt.Errorf("ending what an earlier run has left: %w", err)
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("deleting what an earlier run has left: %w", err)
	}
	if err := c.prepare(o); err != nil {
		return err
	}
	c.logf(o, "starting %v", o.components())
	err = c.kwokctl(ctx, "create", "cluster", "--kubeconfig=", "--config="+c.configFile())
	if err != nil {
		return err
	}
	if err := c.writeAdminKubeconfig(); err != nil {
		return err
	}
	if err := c.connect(); err != nil {
		return err
	}
	if err := c.waitReady(ctx, o.Timeout); err != nil {
		return err
	}
	if err := c.ensureNodes(ctx, o.Nodes); err != nil {
		return err
	}
	c.logf(o, "ready after %.1fs", time.Since(begin).Seconds())
	return nil
}

func (c *Cluster) configFile() string { return filepath.Join(c.dir, "kwokctl.yaml") }

// prepare creates the cluster's directory with kwokctl's configuration.
func (c *Cluster) prepare(o Options) error {
	if err := os.MkdirAll(c.Logs, 0o750); err != nil {
		return fmt.Errorf("making its directory: %w", err)
	}
	reserved, err := reservePorts(c.dir, portsPerCluster)
	if err != nil {
		return err
	}
	p := portsFrom(reserved)
	auditPolicy := ""
	if o.AuditPolicy != "" {
		auditPolicy = filepath.Join(c.dir, "audit-policy.yaml")
		if err := os.WriteFile(auditPolicy, []byte(o.AuditPolicy), 0o600); err != nil {
			return fmt.Errorf("writing the audit policy: %w", err)
		}
	}
	raw, err := configFor(o, p, auditPolicy).yaml()
	if err != nil {
		return err
	}
	if o.has(KwokController) {
		raw = append(append(raw, "---\n"...), stages...)
	}
	if o.PlayIngresses {
		raw = append(append(raw, "---\n"...), ingresses...)
	}
	if o.PlayContainers {
		played, err := playContainers(c.dir)
		if err != nil {
			return err
		}
		raw = append(append(raw, "---\n"...), played...)
	}
	if err := os.WriteFile(c.configFile(), raw, 0o600); err != nil {
		return fmt.Errorf("writing kwokctl's configuration: %w", err)
	}
	c.state = state{
		Components: o.components(),
		APIServer:  p.apiServer,
		Health: map[Component]string{
			KubeControllerManager: "https://" + localhost(p.controllerManager) + "/healthz",
			KubeScheduler:         "https://" + localhost(p.scheduler) + "/healthz",
			KwokController:        "http://" + localhost(p.kwok) + "/healthz",
		},
	}
	return c.saveState()
}

func (c *Cluster) logf(o Options, format string, args ...any) {
	fmt.Fprintf(o.Log, "cluster %s: %s\n", c.Name, fmt.Sprintf(format, args...))
}
