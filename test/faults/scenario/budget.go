package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/faults/world"
)

// fewObjects is the smallest budget that the API allows.
const fewObjects = 100

// docs/concepts.md: if a provider has more objects with the mark than its budget allows, the manager
// disconnects from it, reports that, and touches nothing there. The binding is paused, so that the manager
// does not delete marked objects without an original. ConfigMaps are in use there, because kinds that nobody
// needs are not watched.
var tooLarge = Scenario{
	Name: "too-large", Prepare: all(withObjects(world.P1), note(world.P1, remoteNamespace(team)), note(world.P1, remotely(team, web)), budget(true, ptr.To[int32](fewObjects)),
		func(ctx context.Context, w *world.World) error {
			return eventually(ctx, w, bindingIs(v1alpha1.BindingReady, metav1.ConditionFalse, v1alpha1.ReasonPaused))
		}),
	Steps: []Step{{
		Name: "the provider gets many objects with the mark",
		Do: eachMore(func(ctx context.Context, w *world.World, more *corev1.ConfigMap) error {
			return w.CreateIn(ctx, world.P1, more)
		}),
		Until: all(connected(v1alpha1.ReasonTooLarge), noted(world.P1, remotely(team, web))),
	}, {
		Name: "they go, and the budget is lifted",
		Do: all(eachMore(func(ctx context.Context, w *world.World, more *corev1.ConfigMap) error {
			return w.Cluster(world.P1).Admin.Delete(ctx, more)
		}), budget(false, nil)),
		Until: all(bound(world.P1), offloaded(team, world.P1), noted(world.P1, remotely(team, web))),
	}, secondPod},
}

// budget pauses the binding or not, and sets how many objects of the provider the manager may hold.
func budget(paused bool, objects *int32) Func {
	return change(world.Consumer, named("", world.P1), func(_ *world.World, cb *v1alpha1.ClusterBinding) {
		cb.Spec.Paused, cb.Spec.Budget.Objects = paused, objects
	})
}

// eachMore calls do for each of more objects than the budget allows.
func eachMore(do func(context.Context, *world.World, *corev1.ConfigMap) error) Func {
	return func(ctx context.Context, w *world.World) error {
		mark := provenance.Mark{Origin: w.Origin, ClusterID: world.P1}
		for i := range fewObjects + 1 {
			more := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.Remote(team), Name: fmt.Sprintf("more-%d", i), Labels: mark.Labels()}}
			if err := do(ctx, w, more); err != nil {
				return err
			}
		}
		return nil
	}
}
