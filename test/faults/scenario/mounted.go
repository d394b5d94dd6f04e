package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
)

// A pod in the mount namespace stays there until it ends.
var offloadMounted = Scenario{
	Name: "offload-with-mounted-pods", Prepare: func(ctx context.Context, w *world.World) error {
		mounting := func(cb *v1alpha1.ClusterBinding) { cb.Spec.MountNamespace = w.Remote(mount) }
		if err := w.Bind(ctx, mounting, world.P1); err != nil {
			return err
		}
		if err := eventually(ctx, w, all(bound(world.P1), mounted)); err != nil {
			return err
		}
		if err := w.Create(ctx, world.Namespace(team), configMap("1"), using(world.Pod(team, web, world.P1), settings, "")); err != nil {
			return err
		}
		stays := all(podAt(corev1.PodRunning, team, web, world.P1, hashed(web)), configMapIs("1", world.P1, hashed(settings)))
		if err := eventually(ctx, w, stays); err != nil {
			return err
		}
		return note(world.P1, hashed(web))(ctx, w)
	},
	Steps: []Step{{
		Name: "a team offloads its namespace, of which a pod runs in the mount namespace",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, &v1alpha1.NamespaceOffloading{ObjectMeta: metav1.ObjectMeta{Namespace: team, Name: v1alpha1.OffloadingName}})
		},
		Until: all(offloaded(team, world.P1), podAt(corev1.PodRunning, team, web, world.P1, hashed(web)), noted(world.P1, hashed(web))),
	}, {
		Name: "another pod is created, which needs the same",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, using(world.Pod(team, second, world.P1), settings, ""))
		},
		Until: all(podIs(corev1.PodRunning, team, second, world.P1), podAt(corev1.PodRunning, team, web, world.P1, hashed(web)),
			noted(world.P1, hashed(web)), configMapIs("1", world.P1, hashed(settings)), configMapIs("1", world.P1, remotely(team, settings))),
	}, {
		Name: "the first is deleted",
		Do:   deleteLocal(&corev1.Pod{}, team, web),
		Until: all(gone[corev1.Pod](world.Consumer, named(team, web)), gone[corev1.Pod](world.P1, hashed(web)),
			gone[corev1.ConfigMap](world.P1, hashed(settings)), configMapIs("1", world.P1, remotely(team, settings)),
			podIs(corev1.PodRunning, team, second, world.P1)),
	}},
}
