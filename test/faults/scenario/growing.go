package scenario

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
)

// Whatever happens to the manager, a pod for which the autoscaler of its provider starts no node is replaced once, and the
// binding says how many wait. In the end, the team wants no more of that, as in podGivenUp.
var podDeclined = Scenario{
	Name: "pod-declined", Prepare: inTiers(func(spec *v1alpha1.NamespaceOffloadingSpec) {
		spec.Unschedulable = &v1alpha1.Unschedulable{After: oneSecond}
	}),
	Steps: []Step{{
		Name: "the first tier can grow",
		Do: change(world.Consumer, named("", world.P1), func(_ *world.World, cb *v1alpha1.ClusterBinding) {
			cb.Spec.VirtualNode.Elastic = &v1alpha1.Elastic{After: &metav1.Duration{Duration: time.Hour}, Max: map[corev1.ResourceName]resource.Quantity{
				corev1.ResourceCPU: resource.MustParse("10k"), corev1.ResourceMemory: resource.MustParse("10Ti"), corev1.ResourcePods: resource.MustParse("10k"),
			}}
		}),
		Until: bindingIs(v1alpha1.BindingElastic, metav1.ConditionTrue, v1alpha1.ReasonElastic),
	}, {
		Name: "a pod goes there, and waits for a node",
		Do: func(ctx context.Context, w *world.World) error {
			pod := ofReplicaSet(web, world.P1)
			pod.Labels = map[string]string{world.LabelNoRoom: world.P1}
			return w.Create(ctx, pod)
		},
		Until: bindingIs(v1alpha1.BindingElastic, metav1.ConditionTrue, v1alpha1.ReasonPodsWait),
	}, {
		Name:  "the autoscaler says that it starts none",
		Do:    decline,
		Until: all(podGone(team, web, world.P1), full(world.P1), bindingIs(v1alpha1.BindingElastic, metav1.ConditionTrue, v1alpha1.ReasonElastic)),
	}, {
		Name: "its ReplicaSet creates another one",
		Do: all(soon(newPodsTolerate()), func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, ofReplicaSet(second, ""))
		}),
		Until: all(podTolerates(second, world.P2), opened(second, "1=")),
	}, {
		Name:  "the scheduler places it in the second tier",
		Do:    schedule(second, world.P2),
		Until: podIs(corev1.PodRunning, team, second, world.P2),
	}, {
		Name:  "the team wants that no more pods are replaced",
		Do:    changeOffloading(func(spec *v1alpha1.NamespaceOffloadingSpec) { spec.Unschedulable = nil }),
		Until: full(),
	}},
}

// decline says what Cluster Autoscaler says about a pod in P1.
func decline(ctx context.Context, w *world.World) error {
	pod, err := get[corev1.Pod](ctx, w, world.P1, w.Remote(team), web)
	if err != nil {
		return err
	}
	return w.Cluster(world.P1).Admin.Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: pod.Namespace, Name: "declined"},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Type:           corev1.EventTypeNormal, Reason: "NotTriggerScaleUp", Message: "pod didn't trigger scale-up: 1 max node group size reached",
		Source: corev1.EventSource{Component: "cluster-autoscaler"},
	})
}
