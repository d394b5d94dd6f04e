package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
)

// Somebody may delete or empty what Spillway itself creates in the consumer. The manager recreates it, and
// nothing that depends on it is deleted meanwhile.

var mapDeleted = ownObject("map-deleted", "somebody deletes the NamespaceMap",
	deleteLocal(&v1alpha1.NamespaceMap{}, "", world.P1))

var entryRemoved = ownObject("entry-removed", "somebody takes the entry of the namespace out of the NamespaceMap",
	change(world.Consumer, named("", world.P1), func(_ *world.World, nsm *v1alpha1.NamespaceMap) {
		breakGlass(nsm)
		nsm.Spec.DesiredMapping = nil
	}))

var entryRenamed = ownObject("entry-renamed", "somebody gives the entry of the namespace another remote name",
	change(world.Consumer, named("", world.P1), func(_ *world.World, nsm *v1alpha1.NamespaceMap) {
		breakGlass(nsm)
		nsm.Spec.DesiredMapping[0].RemoteNamespace = "elsewhere"
	}))

// breakGlass allows a user to edit the spec of a NamespaceMap.
func breakGlass(nsm *v1alpha1.NamespaceMap) {
	metav1.SetMetaDataAnnotation(&nsm.ObjectMeta, v1alpha1.AnnotationBreakGlass, "a test")
}

var virtualNodeDeleted = ownObject("virtual-node-deleted", "somebody deletes the virtual node",
	deleteLocal(&corev1.Node{}, "", v1alpha1.VirtualNodePrefix+world.P1))

var mapStatusWiped = ownObject("status-of-map-wiped", "somebody empties the status of the NamespaceMap",
	wipe(named("", world.P1), func(nsm *v1alpha1.NamespaceMap) { nsm.Status = v1alpha1.NamespaceMapStatus{} }))

var offloadingStatusWiped = ownObject("status-of-offloading-wiped", "somebody empties the status of the offloading",
	wipe(named(team, v1alpha1.OffloadingName), func(nso *v1alpha1.NamespaceOffloading) { nso.Status = v1alpha1.NamespaceOffloadingStatus{} }))

var bindingStatusWiped = ownObject("status-of-binding-wiped", "somebody empties the status of the binding",
	wipe(named("", world.P1), func(binding *v1alpha1.ClusterBinding) { binding.Status = v1alpha1.ClusterBindingStatus{} }))

// ownObject is a scenario in which somebody calls do while a pod runs.
func ownObject(name, what string, do Func) Scenario {
	return Scenario{Name: name, Prepare: withNotedPod, Steps: []Step{{Name: what, Do: do, Until: nothingHasGone}, secondPod}}
}

var withNotedPod = all(withPod(world.P1), note(world.P1, remoteNamespace(team)), note(world.P1, remotely(team, web)))

var nothingHasGone = all(bound(world.P1), offloaded(team, world.P1), podIs(corev1.PodRunning, team, web, world.P1),
	noted(world.P1, remoteNamespace(team)), noted(world.P1, remotely(team, web)))

var secondPod = Step{
	Name: "another pod is created, and runs",
	Do: func(ctx context.Context, w *world.World) error {
		return w.Create(ctx, world.Pod(team, second, world.P1))
	},
	Until: all(podIs(corev1.PodRunning, team, second, world.P1), nothingHasGone),
}

// wipe changes the status of an object in the consumer.
func wipe[T any, P interface {
	*T
	client.Object
}](name func(*world.World) client.ObjectKey, by func(P)) Func {
	return func(ctx context.Context, w *world.World) error {
		object, err := get[T, P](ctx, w, world.Consumer, name(w).Namespace, name(w).Name)
		if err != nil {
			return err
		}
		before, ok := object.DeepCopyObject().(client.Object)
		if !ok {
			return fmt.Errorf("%T is no object", object)
		}
		by(object)
		return w.Cluster(world.Consumer).Admin.Status().Patch(ctx, object, client.MergeFrom(before))
	}
}
