package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/faults/world"
)

// docs/pods.md: Spillway shows an address from a provider only to people. It shows an address that no pod can
// have to nobody.
var hostileAddress = Scenario{
	Name: "hostile-address", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name:  "the provider says that the pod is this very node",
		Do:    claims("127.0.0.1"),
		Until: all(podIs(corev1.PodRunning, team, web, world.P1), showsNoAddress),
	}, {
		Name:  "and that it has the address of somebody else's",
		Do:    claims("10.0.0.1"),
		Until: all(podIs(corev1.PodRunning, team, web, world.P1), showsNoAddress),
	}, podSucceeds},
}

// claims reports the address in the remote pod's status, as a provider's kubelet would.
func claims(ip string) Func {
	return func(ctx context.Context, w *world.World) error {
		at := remotely(team, web)(w)
		pod, err := get[corev1.Pod](ctx, w, world.P1, at.Namespace, at.Name)
		if err != nil {
			return err
		}
		before := pod.DeepCopy()
		pod.Status.PodIP, pod.Status.PodIPs = ip, []corev1.PodIP{{IP: ip}}
		pod.Status.HostIP, pod.Status.HostIPs = ip, []corev1.HostIP{{IP: ip}}
		return w.Cluster(world.P1).Admin.Status().Patch(ctx, pod, client.MergeFrom(before))
	}
}

// showsNoAddress wants the pod's status to have no address: no binding is routed.
func showsNoAddress(ctx context.Context, w *world.World) error {
	pod, err := get[corev1.Pod](ctx, w, world.Consumer, team, web)
	if err != nil {
		return err
	}
	return wrap("pod "+team+"/"+web, same("the IP", pod.Status.PodIP, ""), same("the IPs", len(pod.Status.PodIPs), 0),
		same("the node's IP", pod.Status.HostIP, ""), same("the node's IPs", len(pod.Status.HostIPs), 0))
}
