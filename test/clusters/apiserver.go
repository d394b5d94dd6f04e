package clusters

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// KillAPIServer ends the API server with SIGKILL, and returns when it has ended: connections to it are then
// refused. StartAPIServer starts it again.
func (c *Cluster) KillAPIServer(ctx context.Context) error {
	if err := c.kill(ctx, KubeAPIServer); err != nil {
		return fmt.Errorf("killing the API server of cluster %s: %w", c.Name, err)
	}
	return c.forgetPIDs()
}

// StartAPIServer starts the API server on the same port and data, restarts the components that are its
// clients, and waits until all are ready. Without a restart, the clients would wait for client-go's back-off,
// up to a minute after an outage of 15 s. A real cluster restarts them too, when they have lost their leases.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	if err := c.kill(ctx, KubeControllerManager, KubeScheduler, KwokController); err != nil {
		return fmt.Errorf("restarting cluster %s: %w", c.Name, err)
	}
	return c.Start(ctx)
}

// PauseAPIServer makes the API server hang with SIGSTOP: it accepts connections but answers nothing. It
// returns when all threads have stopped, because a request may still be served before.
func (c *Cluster) PauseAPIServer(ctx context.Context) error {
	const patience = 10 * time.Second
	if err := c.signal(KubeAPIServer, syscall.SIGSTOP); err != nil {
		return err
	}
	return poll(ctx, patience, func(context.Context) error {
		processes, err := processesIn(c.dir)
		if err != nil {
			return err
		}
		for _, p := range processes {
			if p.component == KubeAPIServer && !p.stopped() {
				return fmt.Errorf("cluster %s: %s (pid %d) does not stop", c.Name, p.component, p.pid)
			}
		}
		return nil
	})
}

// ResumeAPIServer ends the pause and waits until the API server is ready.
func (c *Cluster) ResumeAPIServer(ctx context.Context) error {
	if err := c.signal(KubeAPIServer, syscall.SIGCONT); err != nil {
		return err
	}
	return c.waitReady(ctx, defaultTimeout)
}
