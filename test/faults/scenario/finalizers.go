package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
)

// The manager restores its finalizer when somebody removes it, unless the object is being deleted: without it
// the deletion would leave objects behind. A pod has no such finalizer: the API server itself waits for the
// kubelet.

var offloadingReleased = Scenario{
	Name: "finalizer-off-offloading", Prepare: bindAndOffload(world.P1),
	Steps: []Step{{
		Name:  "somebody removes the finalizer of the offloading",
		Do:    release[v1alpha1.NamespaceOffloading](named(team, v1alpha1.OffloadingName)),
		Until: all(held[v1alpha1.NamespaceOffloading](named(team, v1alpha1.OffloadingName), v1alpha1.FinalizerOffloading), offloaded(team, world.P1)),
	}, {
		Name:  "the offloading is deleted",
		Do:    deleteLocal(&v1alpha1.NamespaceOffloading{}, team, v1alpha1.OffloadingName),
		Until: notOffloaded(team, world.P1),
	}},
}

var bindingReleased = Scenario{
	Name: "finalizer-off-binding", Prepare: bindAndOffload(world.P1),
	Steps: []Step{{
		Name:  "somebody removes the finalizer of the binding",
		Do:    release[v1alpha1.ClusterBinding](named("", world.P1)),
		Until: all(held[v1alpha1.ClusterBinding](named("", world.P1), v1alpha1.FinalizerBinding), bound(world.P1), offloaded(team, world.P1)),
	}, {
		Name:  "the binding is deleted",
		Do:    deleteLocal(&v1alpha1.ClusterBinding{}, "", world.P1),
		Until: all(unbound(world.P1), selectsNothing(team)),
	}},
}

var originalReleased = Scenario{
	Name: "finalizer-off-configmap", Prepare: withObjects(world.P1),
	Steps: []Step{{
		Name:  "somebody removes the finalizer of a ConfigMap that a pod needs",
		Do:    release[corev1.ConfigMap](named(team, settings)),
		Until: all(configMapIs("1", world.P1, remotely(team, settings)), podIs(corev1.PodRunning, team, web, world.P1)),
	}, {
		Name: "its user deletes the pod",
		Do:   deleteLocal(&corev1.Pod{}, team, web),
		Until: all(podGone(team, web, world.P1), gone[corev1.ConfigMap](world.P1, remotely(team, settings)), unmarked[corev1.ConfigMap](team, settings),
			gone[corev1.Secret](world.P1, remotely(team, password)), unmarked[corev1.Secret](team, password)),
	}},
}

// docs/concepts.md: the manager deletes objects with its mark that nobody asks for.
var offloadingGone = Scenario{
	Name: "offloading-torn-away", Prepare: bindAndOffload(world.P1),
	Steps: []Step{{
		Name:  "somebody deletes the offloading, and removes its finalizer",
		Do:    tear[v1alpha1.NamespaceOffloading](named(team, v1alpha1.OffloadingName)),
		Until: notOffloaded(team, world.P1),
	}},
}

// docs/concepts.md: binding the same provider again adopts what stayed. Kubernetes' garbage collection
// deletes what the binding owned in the consumer. Everything stays in the provider: otherwise the result
// would depend on how far the manager came before the finalizer went.
var bindingGone = Scenario{
	Name: "binding-torn-away", Prepare: orphaning,
	Steps: []Step{{
		Name: "somebody deletes the binding, and removes its finalizer",
		Do:   tear[v1alpha1.ClusterBinding](named("", world.P1)),
		Until: all(gone[v1alpha1.ClusterBinding](world.Consumer, named("", world.P1)), gone[v1alpha1.NamespaceMap](world.Consumer, named("", world.P1)),
			gone[corev1.Node](world.Consumer, named("", v1alpha1.VirtualNodePrefix+world.P1)), selectsNothing(team)),
	}, boundAgain},
}

// release removes all finalizers of an object.
func release[T any, P interface {
	*T
	client.Object
}](name func(*world.World) client.ObjectKey) Func {
	return change(world.Consumer, name, func(_ *world.World, object P) { object.SetFinalizers(nil) })
}

// tear deletes an object and removes its finalizers at once.
func tear[T any, P interface {
	*T
	client.Object
}](name func(*world.World) client.ObjectKey) Func {
	return func(ctx context.Context, w *world.World) error {
		if err := deleteIn(world.Consumer, P(new(T)), name)(ctx, w); err != nil {
			return err
		}
		// The manager may have removed them first.
		return client.IgnoreNotFound(release[T, P](name)(ctx, w))
	}
}

// held wants an object to have a finalizer.
func held[T any, P interface {
	*T
	client.Object
}](name func(*world.World) client.ObjectKey, finalizer string) Func {
	return func(ctx context.Context, w *world.World) error {
		object, err := get[T, P](ctx, w, world.Consumer, name(w).Namespace, name(w).Name)
		if err != nil {
			return err
		}
		if !controllerutil.ContainsFinalizer(object, finalizer) {
			return fmt.Errorf("%T %s has the finalizers %v, wanted %s", object, name(w), object.GetFinalizers(), finalizer)
		}
		return nil
	}
}
