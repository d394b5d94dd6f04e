// Package tables returns the table of the cloud that a configuration is for.
package tables

import (
	"github.com/spillway-io/spillway/hosted/api/v1alpha1"
	"github.com/spillway-io/spillway/hosted/clouds/akstable"
	"github.com/spillway-io/spillway/hosted/clouds/ekstable"
	"github.com/spillway-io/spillway/hosted/clouds/gketable"
	"github.com/spillway-io/spillway/hosted/merge"
)

// Of returns the table; nil if the configuration is for no cloud.
func Of(config v1alpha1.ClusterConfig) *merge.Table {
	switch {
	case config.EKSConfig != nil:
		return ekstable.Table
	case config.AKSConfig != nil:
		return akstable.Table
	case config.GKEConfig != nil:
		return gketable.Table
	default:
		return nil
	}
}
