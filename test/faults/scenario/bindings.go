package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
)

// The only scenario with the default of foreignPods.
var bindOne = Scenario{
	Name: "bind",
	Steps: []Step{{
		Name:  "a provider is bound",
		Do:    func(ctx context.Context, w *world.World) error { return w.Bind(ctx, subtracting, world.P1) },
		Until: bound(world.P1),
	}},
}

// subtracting subtracts what other pods in the provider request. Those of other lanes come and go, and request nothing. So the
// virtual node shows fewer pods than they leave.
func subtracting(cb *v1alpha1.ClusterBinding) {
	cb.Spec.VirtualNode.ForeignPods = v1alpha1.ForeignPodsSubtract
	cb.Spec.VirtualNode.Capacity = map[corev1.ResourceName]intstr.IntOrString{corev1.ResourcePods: intstr.FromInt32(20)}
}

var unbind = Scenario{
	Name: "unbind", Core: true, Prepare: withPod(world.P1),
	Steps: []Step{{
		Name:  "the binding is deleted, with a pod in the provider",
		Do:    deleteLocal(&v1alpha1.ClusterBinding{}, "", world.P1),
		Until: all(unbound(world.P1), podGone(team, web, world.P1), selectsNothing(team)),
	}},
}

// Binding a provider again adopts what is still needed.
var rebind = Scenario{
	Name:    "orphan-and-bind-again",
	Prepare: orphaning,
	Steps: []Step{{
		Name: "the binding is deleted, and leaves what is there",
		Do:   deleteLocal(&v1alpha1.ClusterBinding{}, "", world.P1),
		Until: all(gone[v1alpha1.ClusterBinding](world.Consumer, named("", world.P1)), gone[v1alpha1.NamespaceMap](world.Consumer, named("", world.P1)),
			gone[corev1.Node](world.Consumer, named("", v1alpha1.VirtualNodePrefix+world.P1)),
			selectsNothing(team), noted(world.P1, remoteNamespace(team))),
	}, boundAgain},
}

// orphaning offloads a namespace to a provider whose binding leaves everything behind, and notes the remote
// namespace.
func orphaning(ctx context.Context, w *world.World) error {
	orphan := func(cb *v1alpha1.ClusterBinding) { cb.Spec.DeletionPolicy = v1alpha1.DeletionPolicyOrphan }
	if err := w.Bind(ctx, orphan, world.P1); err != nil {
		return err
	}
	if err := w.Offload(ctx, team); err != nil {
		return err
	}
	return eventually(ctx, w, all(bound(world.P1), offloaded(team, world.P1), note(world.P1, remoteNamespace(team))))
}

// boundAgain wants the remote namespace that stayed to be in use.
var boundAgain = Step{
	Name: "the provider is bound again",
	Do: func(ctx context.Context, w *world.World) error {
		if err := deleteLocal(&corev1.Secret{}, managerNamespace, world.P1)(ctx, w); err != nil {
			return err
		}
		return w.Bind(ctx, nil, world.P1)
	},
	Until: all(takenOver(world.P1), bound(world.P1), offloaded(team, world.P1), noted(world.P1, remoteNamespace(team))),
}

// takenOver does what a binding asks of its user when its predecessor could not delete its Lease, because the
// provider was away. It allows the manager to take the Lease over, and revokes that afterwards.
func takenOver(id string) Func {
	return func(ctx context.Context, w *world.World) error {
		binding, err := get[v1alpha1.ClusterBinding](ctx, w, world.Consumer, "", id)
		if err != nil {
			return err
		}
		_, answered := binding.Annotations[v1alpha1.AnnotationTakeOver]
		connected := meta.FindStatusCondition(binding.Status.Conditions, v1alpha1.BindingConnected)
		switch {
		case connected == nil:
			return nil
		case !answered && connected.Reason == v1alpha1.ReasonTakeOverNeeded:
			_, generation, _ := strings.Cut(connected.Message, v1alpha1.AnnotationTakeOver+"=")
			generation, _, _ = strings.Cut(generation, ";")
			return errors.Join(errTakenOver, annotate(ctx, w, binding, generation))
		case answered && connected.Status == metav1.ConditionTrue:
			return errors.Join(errTakenOver, annotate(ctx, w, binding, nil))
		}
		return nil
	}
}

// errTakenOver makes the step look again.
var errTakenOver = errors.New("the user has just said whether the Lease may be taken over")

// annotate sets which generation may be taken over; nil removes the annotation.
func annotate(ctx context.Context, w *world.World, binding *v1alpha1.ClusterBinding, generation any) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationTakeOver: generation}}})
	if err != nil {
		return err
	}
	return w.Cluster(world.Consumer).Admin.Patch(ctx, binding, client.RawPatch(types.MergePatchType, patch))
}

var mountNamespace = Scenario{
	Name: "mount-namespace",
	Steps: []Step{{
		Name: "a provider is bound, with a mount namespace",
		Do: func(ctx context.Context, w *world.World) error {
			mounting := func(cb *v1alpha1.ClusterBinding) { cb.Spec.MountNamespace = w.Remote(mount) }
			return w.Bind(ctx, mounting, world.P1)
		},
		Until: all(bound(world.P1), mounted),
	}, {
		Name: "a pod is created in a namespace that is not offloaded",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, world.Namespace(team), configMap("1"), using(world.Pod(team, web, world.P1), settings, ""))
		},
		Until: all(podAt(corev1.PodRunning, team, web, world.P1, hashed(web)), configMapIs("1", world.P1, hashed(settings))),
	}, {
		Name: "its user deletes it",
		Do:   deleteLocal(&corev1.Pod{}, team, web),
		Until: all(gone[corev1.Pod](world.Consumer, named(team, web)), gone[corev1.Pod](world.P1, hashed(web)),
			gone[corev1.ConfigMap](world.P1, hashed(settings)), unmarked[corev1.ConfigMap](team, settings)),
	}, {
		Name:  "the binding is deleted",
		Do:    deleteLocal(&v1alpha1.ClusterBinding{}, "", world.P1),
		Until: all(unbound(world.P1), gone[corev1.Namespace](world.P1, remoteNamespace(mount))),
	}},
}

// mounted wants the mount namespace to be ready.
func mounted(ctx context.Context, w *world.World) error {
	binding, err := get[v1alpha1.ClusterBinding](ctx, w, world.Consumer, "", world.P1)
	if err != nil {
		return err
	}
	if _, err := get[corev1.Namespace](ctx, w, world.P1, "", w.Remote(mount)); err != nil {
		return err
	}
	return wrap("ClusterBinding "+world.P1,
		condition(binding.Status.Conditions, v1alpha1.BindingMountNamespaceReady, metav1.ConditionTrue, v1alpha1.ReasonNamespaceActive))
}

// change patches an object without a precondition.
func change[T any, P interface {
	*T
	client.Object
}](cluster string, name func(*world.World) client.ObjectKey, by func(*world.World, P)) Func {
	return func(ctx context.Context, w *world.World) error {
		key := name(w)
		object, err := get[T, P](ctx, w, cluster, key.Namespace, key.Name)
		if err != nil {
			return err
		}
		before := object.DeepCopyObject().(client.Object)
		by(w, object)
		return w.Cluster(cluster).Admin.Patch(ctx, object, client.MergeFrom(before))
	}
}
