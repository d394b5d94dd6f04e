package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/test/faults/world"
)

// docs/operations.md: Spillway refuses in the consumer what the provider's limits do not allow, and sends
// nothing for it.
var volumeDescribed = Scenario{
	Name: "volume-described", Prepare: bindAndOffload(world.P1),
	Steps: []Step{{
		Name: "a pod is created that describes a volume, which the provider does not allow, and needs a Secret",
		Do: func(ctx context.Context, w *world.World) error {
			pod := using(world.Pod(team, web, world.P1), settings, password)
			pod.Spec.Volumes = []corev1.Volume{{Name: data, VolumeSource: corev1.VolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs.example.com", Path: "/"}}}}
			return w.Create(ctx, configMap("1"), secret("1"), pod)
		},
		Until: all(podStaysHome(team, web, field.ReasonVolumeNotAllowed),
			gone[corev1.Secret](world.P1, remotely(team, password)), unmarked[corev1.Secret](team, password)),
	}, {
		Name:  "its user deletes it",
		Do:    deleteLocal(&corev1.Pod{}, team, web),
		Until: all(podGone(team, web, world.P1), unmarked[corev1.Secret](team, password)),
	}},
}
