package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
	"github.com/spillway-io/spillway/test/requests"
)

// docs/concepts.md: if somebody deletes a remote namespace, the manager recreates it. A pod whose remote pod
// is gone with it is Failed.
var remoteNamespaceDeleted = Scenario{
	Name: "remote-namespace-deleted", Prepare: all(withPod(world.P1), note(world.P1, remoteNamespace(team))),
	Steps: []Step{{
		Name:  "somebody deletes the remote namespace, with a pod in it",
		Do:    deleteIn(world.P1, &corev1.Namespace{}, remoteNamespace(team)),
		Until: all(another(world.P1, remoteNamespace(team)), offloaded(team, world.P1), podLost(team, web)),
	}, {
		Name: "a pod is created in the new one",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, world.Pod(team, second, world.P1))
		},
		Until: podIs(corev1.PodRunning, team, second, world.P1),
	}},
}

// docs/concepts.md: a live local pod whose remote pod existed and is gone is Failed, with RemotePodLost.
var remotePodDeleted = Scenario{
	Name: "remote-pod-deleted", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name:  "somebody deletes the remote pod",
		Do:    deleteIn(world.P1, &corev1.Pod{}, remotely(team, web)),
		Until: all(podLost(team, web), gone[corev1.Pod](world.P1, remotely(team, web))),
	}},
}

// docs/concepts.md: a terminal phase is final.
var remotePodOfEndedDeleted = Scenario{
	Name: "remote-pod-deleted-after-its-end", Prepare: withPod(world.P1),
	Steps: []Step{podSucceeds, {
		Name:  "somebody deletes the remote pod",
		Do:    deleteIn(world.P1, &corev1.Pod{}, remotely(team, web)),
		Until: all(gone[corev1.Pod](world.P1, remotely(team, web)), ended(corev1.PodSucceeded)),
	}, {
		Name: "another pod is created, and runs",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, world.Pod(team, second, world.P1))
		},
		Until: all(podIs(corev1.PodRunning, team, second, world.P1), ended(corev1.PodSucceeded)),
	}},
}

// ended wants the local pod to be in that phase, whatever the provider has.
func ended(phase corev1.PodPhase) Func {
	return func(ctx context.Context, w *world.World) error {
		pod, err := get[corev1.Pod](ctx, w, world.Consumer, team, web)
		if err != nil {
			return err
		}
		return wrap("pod "+team+"/"+web, same("the phase", pod.Status.Phase, phase), same("the reason", pod.Status.Reason, ""))
	}
}

// The pod that takes the name has no mark, and is left alone.
var remotePodMadeAgain = Scenario{
	Name: "remote-pod-made-again-by-somebody", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name: "somebody deletes the remote pod by force, and makes one of its name",
		Do: func(ctx context.Context, w *world.World) error {
			now := client.GracePeriodSeconds(0)
			if err := deleteIn(world.P1, &corev1.Pod{}, remotely(team, web), now)(ctx, w); err != nil {
				return err
			}
			return strangersPod(ctx, w)
		},
		Until: all(podLost(team, web), untouched[corev1.Pod](remotely(team, web))),
	}},
}

// docs/concepts.md: a copy follows its original.
var copyDeleted = Scenario{
	Name: "copy-deleted", Prepare: withObjects(world.P1),
	Steps: []Step{{
		Name:  "somebody deletes the copy of the ConfigMap",
		Do:    deleteIn(world.P1, &corev1.ConfigMap{}, remotely(team, settings)),
		Until: all(configMapIs("1", world.P1, remotely(team, settings)), podIs(corev1.PodRunning, team, web, world.P1)),
	}},
}

// docs/concepts.md: an object without the mark belongs to somebody else. The manager reports it, and never
// changes or deletes it. The same holds for an object that has lost the mark.
var namespaceUnlabelled = Scenario{
	Name: "mark-stripped-off-namespace", Prepare: all(bindAndOffload(world.P1), note(world.P1, remoteNamespace(team))),
	Steps: []Step{{
		Name: "somebody takes our label off the remote namespace",
		Do:   label[corev1.Namespace](remoteNamespace(team), ""),
		Until: all(entryIs(team, world.P1, v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameConflict),
			phaseIs(team, v1alpha1.OffloadingPhaseAllFailed, v1alpha1.ReasonNameConflict), noted(world.P1, remoteNamespace(team))),
	}, {
		Name:  "the label is put back",
		Do:    label[corev1.Namespace](remoteNamespace(team), v1alpha1.ManagedBySpillway),
		Until: all(offloaded(team, world.P1), noted(world.P1, remoteNamespace(team))),
	}},
}

// The manager restores the labels of a running pod.
var podUnlabelled = Scenario{
	Name: "mark-stripped-off-pod", Prepare: all(withPod(world.P1), note(world.P1, remotely(team, web))),
	Steps: []Step{{
		Name:  "somebody takes our label off the remote pod",
		Do:    label[corev1.Pod](remotely(team, web), ""),
		Until: all(podIs(corev1.PodRunning, team, web, world.P1), noted(world.P1, remotely(team, web))),
	}, podSucceeds},
}

// The manager leaves a copy alone that has lost its label. Pods that need it report that until the copy is
// deleted.
var copyUnlabelled = Scenario{
	Name: "mark-stripped-off-copy", Prepare: withObjects(world.P1),
	Steps: []Step{{
		Name:  "somebody takes our label off the copy of the ConfigMap",
		Do:    label[corev1.ConfigMap](remotely(team, settings), ""),
		Until: all(asked(world.P1, requests.Create, "configmaps", settings), podIs(corev1.PodRunning, team, web, world.P1)),
	}, {
		Name:  "another pod needs it",
		Do:    secondUsing,
		Until: all(podStaysHome(team, second, v1alpha1.ReasonNameConflict), podIs(corev1.PodRunning, team, web, world.P1)),
	}, {
		Name: "somebody deletes it",
		Do:   deleteIn(world.P1, &corev1.ConfigMap{}, remotely(team, settings)),
		Until: all(configMapIs("1", world.P1, remotely(team, settings)),
			podIs(corev1.PodRunning, team, web, world.P1), podIs(corev1.PodRunning, team, second, world.P1)),
	}},
}

func secondUsing(ctx context.Context, w *world.World) error {
	return w.Create(ctx, using(world.Pod(team, second, world.P1), settings, password))
}

// label sets the label of Spillway's objects; "" removes it.
func label[T any, P interface {
	*T
	client.Object
}](name func(*world.World) client.ObjectKey, value string) Func {
	return change(world.P1, name, func(_ *world.World, object P) {
		labels := object.GetLabels()
		labels[v1alpha1.LabelManagedBy] = value
		if value == "" {
			delete(labels, v1alpha1.LabelManagedBy)
		}
		object.SetLabels(labels)
	})
}

// docs/concepts.md: the manager reports a foreign object, and leaves it alone until the name is free. It
// tries again ten seconds later at first.
var foreignNamespace = Scenario{
	Name: "foreign-namespace", Prepare: all(bind(world.P1), func(ctx context.Context, w *world.World) error {
		namespace := world.Namespace(w.Remote(team))
		namespace.Labels = labelsOfStranger()
		return w.CreateIn(ctx, world.P1, namespace)
	}),
	Steps: []Step{{
		Name: "a team offloads its namespace, whose remote name is taken",
		Do:   func(ctx context.Context, w *world.World) error { return w.Offload(ctx, team) },
		Until: all(entryIs(team, world.P1, v1alpha1.MappingCreationLoopBackOff, v1alpha1.ReasonNameConflict),
			phaseIs(team, v1alpha1.OffloadingPhaseAllFailed, v1alpha1.ReasonNameConflict), untouched[corev1.Namespace](remoteNamespace(team))),
	}, {
		Name:  "somebody deletes what is in the way",
		Do:    deleteIn(world.P1, &corev1.Namespace{}, remoteNamespace(team)),
		Until: offloaded(team, world.P1),
	}},
}

var foreignPod = Scenario{
	Name: "foreign-pod", Prepare: all(bindAndOffload(world.P1), strangersPod),
	Steps: []Step{{
		Name:  "a pod is created whose name is taken",
		Do:    createPod(world.P1),
		Until: all(podStaysHome(team, web, v1alpha1.ReasonNameConflict), untouched[corev1.Pod](remotely(team, web))),
	}, {
		Name:  "somebody deletes what is in the way",
		Do:    deleteIn(world.P1, &corev1.Pod{}, remotely(team, web)),
		Until: podIs(corev1.PodRunning, team, web, world.P1),
	}},
}

var foreignConfigMap = Scenario{
	Name: "foreign-configmap", Prepare: all(bindAndOffload(world.P1), func(ctx context.Context, w *world.World) error {
		return w.CreateIn(ctx, world.P1, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.Remote(team), Name: settings, Labels: labelsOfStranger()}, Data: map[string]string{key: "theirs"},
		})
	}),
	Steps: []Step{{
		Name: "a pod is created that needs a ConfigMap whose name is taken",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, configMap("1"), using(world.Pod(team, web, world.P1), settings, ""))
		},
		Until: all(podStaysHome(team, web, v1alpha1.ReasonNameConflict), untouched[corev1.ConfigMap](remotely(team, settings))),
	}, {
		Name:  "somebody deletes what is in the way",
		Do:    deleteIn(world.P1, &corev1.ConfigMap{}, remotely(team, settings)),
		Until: all(configMapIs("1", world.P1, remotely(team, settings)), podIs(corev1.PodRunning, team, web, world.P1)),
	}},
}

// strangersPod creates a pod under the name that the team's pod needs. The played kubelet runs it, or it
// would change during the check.
func strangersPod(ctx context.Context, w *world.World) error {
	pod := world.Pod(w.Remote(team), web, "")
	pod.Spec.NodeName, pod.Labels = "", labelsOfStranger()
	return w.CreateIn(ctx, world.P1, pod)
}

func labelsOfStranger() map[string]string {
	labels := map[string]string{}
	for key, value := range stranger {
		labels[key] = value
	}
	return labels
}
