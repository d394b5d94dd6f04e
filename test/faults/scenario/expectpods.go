package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/status"
	"github.com/spillway-io/spillway/internal/field/provenance"
	"github.com/spillway-io/spillway/test/faults/world"
)

// podIs wants a pod to be in a provider, and in that phase in both clusters.
func podIs(phase corev1.PodPhase, namespace, name, provider string) Func {
	return podAt(phase, namespace, name, provider, remotely(namespace, name))
}

// podAt is podIs for a remote pod with another name.
func podAt(phase corev1.PodPhase, namespace, name, provider string, at func(*world.World) client.ObjectKey) Func {
	return func(ctx context.Context, w *world.World) error {
		local, err := get[corev1.Pod](ctx, w, world.Consumer, namespace, name)
		if err != nil {
			return err
		}
		remote, err := get[corev1.Pod](ctx, w, provider, at(w).Namespace, at(w).Name)
		if err != nil {
			return err
		}
		return wrap("pod "+namespace+"/"+name,
			same("the phase", local.Status.Phase, phase),
			same("the remote phase", remote.Status.Phase, phase),
			same("whether it is Ready", podCondition(local, corev1.PodReady), podCondition(remote, corev1.PodReady)),
			same("how many containers there are", len(local.Status.ContainerStatuses), len(remote.Status.ContainerStatuses)),
			same("the IP that people are told", local.Annotations[v1alpha1.AnnotationRemoteIP], status.RemoteIP(remote)),
			same("the remote UID", local.Annotations[v1alpha1.AnnotationRemoteUID], string(remote.UID)),
			same("the mark", provenance.Mark{Origin: w.Origin, ClusterID: provider}.IsOn(remote), true),
			same("what the remote pod stands for", provenance.LocalOf(remote), provenance.Local{Namespace: namespace, Name: name, UID: local.UID}),
			same("what keeps it home", podCondition(local, v1alpha1.PodOffloaded) == corev1.ConditionFalse, false),
			same("that it stays", local.DeletionTimestamp.IsZero() && remote.DeletionTimestamp.IsZero(), true))
	}
}

func podCondition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.ConditionStatus {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == kind {
			return pod.Status.Conditions[i].Status
		}
	}
	return ""
}

// podGone wants a pod to exist in neither cluster.
func podGone(namespace, name, provider string) Func {
	return all(gone[corev1.Pod](world.Consumer, named(namespace, name)), gone[corev1.Pod](provider, remotely(namespace, name)))
}
