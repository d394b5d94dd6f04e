package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/clusters"
)

// databaseRuns returns an error if team-b's database does not run yet, with volumes of provider eu.
func (d *demo) databaseRuns(ctx context.Context) error {
	key := client.ObjectKey{Namespace: "team-b", Name: "db"}
	database := &appsv1.StatefulSet{}
	if err := d.consumer.Get(ctx, key, database); err != nil {
		return fmt.Errorf("statefulset %s: %w", key, err)
	}
	if ready := database.Status.ReadyReplicas; ready < *database.Spec.Replicas {
		return fmt.Errorf("statefulset %s: %d of %d pods are ready", key, ready, *database.Spec.Replicas)
	}
	return nil
}

// volumes returns the directories of the volumes that provider eu has created. It returns none if eu does not
// answer: empty directories then stay.
func (d *demo) volumes(ctx context.Context) []string {
	c, err := clusters.Open(d.options("eu"))
	if err != nil {
		return nil
	}
	eu, err := client.New(c.Config(), client.Options{})
	if err != nil {
		return nil
	}
	var volumes corev1.PersistentVolumeList
	if err := eu.List(ctx, &volumes); err != nil {
		d.say("the directories of eu's volumes stay in %s: %v", clusters.HostPathVolumes, err)
		return nil
	}
	var found []string
	for i := range volumes.Items {
		if source := volumes.Items[i].Spec.HostPath; source != nil && filepath.Dir(source.Path) == clusters.HostPathVolumes {
			found = append(found, source.Path)
		}
	}
	return found
}

// removeVolumes removes directories of volumes. It removes nothing that has content: no pod of kwok writes any.
func removeVolumes(directories []string) error {
	var errs []error
	for _, directory := range directories {
		if err := os.Remove(directory); err != nil && !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	_ = os.Remove(clusters.HostPathVolumes) // It stays if others have volumes there.
	return errors.Join(errs...)
}
