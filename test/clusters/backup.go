package clusters

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// The directories of what etcd holds, and of the last Backup.
const (
	dataDir   = "etcd"
	backupDir = "etcd.backup"
)

// Backup copies what etcd holds, for which all of the cluster is stopped for a
// moment. There is one backup of a cluster: the last.
func (c *Cluster) Backup(ctx context.Context) error {
	return c.copyData(ctx, filepath.Join(c.dir, dataDir), filepath.Join(c.dir, backupDir))
}

// Restore puts the last Backup back, as the documentation of Kubernetes asks for:
// while no API server runs.
func (c *Cluster) Restore(ctx context.Context) error { return c.RestoreFrom(ctx, c) }

// RestoreFrom puts the last Backup of another cluster in place of what etcd holds:
// from then on this one is its copy, of the same identity.
func (c *Cluster) RestoreFrom(ctx context.Context, other *Cluster) error {
	return c.copyData(ctx, filepath.Join(other.dir, backupDir), filepath.Join(c.dir, dataDir))
}

func (c *Cluster) copyData(ctx context.Context, from, to string) error {
	if err := c.Stop(ctx); err != nil {
		return err
	}
	err := os.RemoveAll(to)
	if err == nil {
		err = os.CopyFS(to, os.DirFS(from))
	}
	if err != nil {
		return fmt.Errorf("copying what etcd of cluster %s is to hold: %w", c.Name, err)
	}
	return c.Start(ctx)
}
