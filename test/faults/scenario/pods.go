package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/faults/world"
)

// web is the pod that most scenarios are about.
const web = "web"

var podLife = Scenario{
	Name: "pod-runs-and-succeeds", Core: true, Prepare: bindAndOffload(world.P1),
	Steps: []Step{podCreated, {
		Name: "it succeeds",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Succeed(ctx, world.P1, w.Remote(team), web)
		},
		Until: podIs(corev1.PodSucceeded, team, web, world.P1),
	}},
}

var podDeleted = Scenario{
	Name: "pod-deleted", Core: true, Prepare: bindAndOffload(world.P1),
	Steps: []Step{podCreated, {
		Name:  "its user deletes it",
		Do:    deleteLocal(&corev1.Pod{}, team, web),
		Until: podGone(team, web, world.P1),
	}},
}

var podCreated = Step{
	Name:  "a pod is created",
	Do:    createPod(world.P1),
	Until: podIs(corev1.PodRunning, team, web, world.P1),
}

// createPod makes the pod, and puts it on the virtual node of a provider.
func createPod(provider string) Func {
	return func(ctx context.Context, w *world.World) error { return w.Create(ctx, world.Pod(team, web, provider)) }
}

// deleteLocal deletes an object of the consumer, as its user does.
func deleteLocal(kind client.Object, namespace, name string) Func {
	return func(ctx context.Context, w *world.World) error {
		object := kind.DeepCopyObject().(client.Object)
		object.SetNamespace(namespace)
		object.SetName(name)
		return w.Consumer.Admin.Delete(ctx, object)
	}
}
