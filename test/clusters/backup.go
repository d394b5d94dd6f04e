package clusters

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// Backup copies what etcd holds, for which all of the cluster is stopped for a
// moment. There is one backup of a cluster: the last.
func (c *Cluster) Backup(ctx context.Context) error { return c.copyData(ctx, "etcd", "etcd.backup") }

// Restore puts the last Backup back, as the documentation of Kubernetes asks for:
// while no API server runs.
func (c *Cluster) Restore(ctx context.Context) error { return c.copyData(ctx, "etcd.backup", "etcd") }

func (c *Cluster) copyData(ctx context.Context, from, to string) error {
	if err := c.Stop(ctx); err != nil {
		return err
	}
	from, to = filepath.Join(c.dir, from), filepath.Join(c.dir, to)
	err := os.RemoveAll(to)
	if err == nil {
		err = os.CopyFS(to, os.DirFS(from))
	}
	if err != nil {
		return fmt.Errorf("copying what etcd of cluster %s holds: %w", c.Name, err)
	}
	return c.Start(ctx)
}
