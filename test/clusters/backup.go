package clusters

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// The directories of etcd's data and of the last Backup.
const (
	dataDir   = "etcd"
	backupDir = "etcd.backup"
)

// Backup copies etcd's data. It stops the whole cluster for a moment. A cluster has only its last backup.
func (c *Cluster) Backup(ctx context.Context) error {
	return c.copyData(ctx, filepath.Join(c.dir, dataDir), filepath.Join(c.dir, backupDir))
}

// Restore restores the last Backup while no API server runs, as Kubernetes' documentation requires.
func (c *Cluster) Restore(ctx context.Context) error { return c.RestoreFrom(ctx, c) }

// RestoreFrom replaces etcd's data with the last Backup of another cluster. From then on this cluster is its
// copy, with the same identity.
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
