package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
)

var podLife = Scenario{
	Name: "pod-runs-and-succeeds", Core: true, Prepare: bindAndOffload(world.P1),
	Steps: []Step{podCreated, podSucceeds},
}

var podDeleted = Scenario{
	Name: "pod-deleted", Core: true, Prepare: bindAndOffload(world.P1),
	Steps: []Step{podCreated, {
		Name:  "its user deletes it",
		Do:    deleteLocal(&corev1.Pod{}, team, web),
		Until: podGone(team, web, world.P1),
	}},
}

var podForced = Scenario{
	Name: "pod-deleted-by-force", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name:  "its user deletes it by force",
		Do:    force(team, web),
		Until: podGone(team, web, world.P1),
	}},
}

var podEndedAndDeleted = Scenario{
	Name: "pod-succeeded-and-deleted", Prepare: withPod(world.P1),
	Steps: []Step{podSucceeds, {
		Name:  "its user deletes it",
		Do:    deleteLocal(&corev1.Pod{}, team, web),
		Until: podGone(team, web, world.P1),
	}},
}

var podChanged = Scenario{
	Name: "pod-changed", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name: "its image and its labels are changed",
		Do: change(world.Consumer, named(team, web), func(_ *world.World, pod *corev1.Pod) {
			pod.Labels = map[string]string{labelVersion: "2"}
			pod.Spec.Containers[0].Image = "example.com/app:2"
		}),
		Until: all(podIs(corev1.PodRunning, team, web, world.P1), func(ctx context.Context, w *world.World) error {
			pod, err := get[corev1.Pod](ctx, w, world.P1, w.Remote(team), web)
			if err != nil {
				return err
			}
			return wrap("the remote pod", same("the image", pod.Spec.Containers[0].Image, "example.com/app:2"),
				same("the label", pod.Labels[labelVersion], "2"))
		}),
	}},
}

var podAgain = Scenario{
	Name: "pod-made-again", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name: "the pod is deleted by force, and made again under its name at once",
		Do: func(ctx context.Context, w *world.World) error {
			if err := force(team, web)(ctx, w); err != nil {
				return err
			}
			return createPod(world.P1)(ctx, w)
		},
		Until: podIs(corev1.PodRunning, team, web, world.P1),
	}},
}

// The pod is replaced as by kubectl replace --force with the output of kubectl get -o yaml: the new pod has
// the old annotations.
var podReplaced = Scenario{
	Name: "pod-replaced-by-its-manifest", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name: "the pod is deleted by force, and made again with all of its annotations",
		Do: func(ctx context.Context, w *world.World) error {
			old, err := get[corev1.Pod](ctx, w, world.Consumer, team, web)
			if err != nil {
				return err
			}
			if err := force(team, web)(ctx, w); err != nil {
				return err
			}
			pod := world.Pod(team, web, world.P1)
			pod.Annotations = old.Annotations
			return w.Create(ctx, pod)
		},
		Until: podIs(corev1.PodRunning, team, web, world.P1),
	}},
}

var podPaused = Scenario{
	Name: "pod-while-paused", Prepare: bindAndOffload(world.P1),
	Steps: []Step{{
		Name: "the binding is paused",
		Do:   pause(true),
		Until: func(ctx context.Context, w *world.World) error {
			return readyIs(ctx, w, v1alpha1.ReasonPaused)
		},
	}, {
		Name:  "a pod is created, and the binding is unpaused",
		Do:    all(createPod(world.P1), pause(false)),
		Until: all(bound(world.P1), podIs(corev1.PodRunning, team, web, world.P1)),
	}},
}

func pause(paused bool) Func {
	return change(world.Consumer, named("", world.P1), func(_ *world.World, cb *v1alpha1.ClusterBinding) { cb.Spec.Paused = paused })
}

var podCreated = Step{
	Name:  "a pod is created",
	Do:    createPod(world.P1),
	Until: podIs(corev1.PodRunning, team, web, world.P1),
}

var podSucceeds = Step{
	Name:  "it succeeds",
	Do:    func(ctx context.Context, w *world.World) error { return w.Succeed(ctx, world.P1, w.Remote(team), web) },
	Until: podIs(corev1.PodSucceeded, team, web, world.P1),
}

// createPod creates the pod on the virtual node of a provider.
func createPod(provider string) Func { return createNamed(web, provider) }

// createNamed is createPod for a pod with another name.
func createNamed(name, provider string) Func {
	return func(ctx context.Context, w *world.World) error { return w.Create(ctx, world.Pod(team, name, provider)) }
}

// force deletes a pod without waiting for it to end.
func force(namespace, name string) Func {
	return deleteLocal(&corev1.Pod{}, namespace, name, client.GracePeriodSeconds(0))
}

// deleteLocal deletes an object in the consumer, as its user does.
func deleteLocal(kind client.Object, namespace, name string, options ...client.DeleteOption) Func {
	return deleteIn(world.Consumer, kind, named(namespace, name), options...)
}

// deleteIn deletes an object in any cluster.
func deleteIn(cluster string, kind client.Object, name func(*world.World) client.ObjectKey, options ...client.DeleteOption) Func {
	return func(ctx context.Context, w *world.World) error {
		object, ok := kind.DeepCopyObject().(client.Object)
		if !ok {
			return fmt.Errorf("%T is no object", kind)
		}
		object.SetNamespace(name(w).Namespace)
		object.SetName(name(w).Name)
		if err := w.Cluster(cluster).Admin.Delete(ctx, object, options...); err != nil {
			return fmt.Errorf("%s: %w", cluster, err)
		}
		return nil
	}
}
