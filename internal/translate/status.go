package translate

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/decide/network"
)

// PodStatus is the status that local should have, out of remote's. What comes
// from the provider is checked and bounded value by value, and what is not
// mentioned here (QoS class, nominated node, generation, claims) stays as it is
// locally. Whatever remote says, the result is a status that the consumer's API
// server accepts in place of local's.
//
// A phase that is final stays so, and Running never becomes Pending again.
//
// Of addresses it has only what reach shows. One of the provider's nodes is never shown.
//
// The status shares memory with local and remote: it is to be read, or copied.
func PodStatus(local, remote *corev1.Pod, reach network.Reach) corev1.PodStatus {
	if isFinal(local.Status.Phase) {
		return local.Status
	}
	from, to := &remote.Status, local.Status
	to.Phase = phase(local.Status.Phase, from.Phase)
	to.Reason, to.Message = bounded(from.Reason, maxReason), bounded(from.Message, maxMessage)
	to.StartTime = startTime(local.Status.StartTime, from.StartTime)
	to.HostIP, to.HostIPs = "", nil
	to.PodIP, to.PodIPs = podIPs(local, remote, reach)

	spec := &local.Spec
	restarts := restartRules(spec)
	to.InitContainerStatuses = containerStatuses(spec.InitContainers, local.Status.InitContainerStatuses, from.InitContainerStatuses, restarts)
	to.ContainerStatuses = containerStatuses(spec.Containers, local.Status.ContainerStatuses, from.ContainerStatuses, restarts)
	to.EphemeralContainerStatuses = ephemeralStatuses(spec.EphemeralContainers, local.Status.EphemeralContainerStatuses, from.EphemeralContainerStatuses)
	if spec.Resources != nil {
		to.AllocatedResources = resourceList(from.AllocatedResources, spec.Resources)
		to.Resources = resourceRequirements(from.Resources, spec.Resources)
	}
	to.Conditions = conditions(local, from.Conditions)
	return to
}

func isFinal(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// phase is remote's, unless it is unknown or would take back that the pod runs.
func phase(local, remote corev1.PodPhase) corev1.PodPhase {
	switch remote {
	case corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed:
		return remote
	}
	if local == "" {
		return corev1.PodPending
	}
	return local
}

func startTime(local, remote *metav1.Time) *metav1.Time {
	if remote == nil || !isSane(*remote) {
		return local
	}
	return remote
}

// podIPs are the addresses that reach shows of the remote pod, or, while it is
// pending, of those that the local one has already.
func podIPs(local, remote *corev1.Pod, reach network.Reach) (first string, all []corev1.PodIP) {
	from := &remote.Status
	if reach.Pending {
		from = &local.Status
	}
	for _, ip := range addresses(from, reach.Shows) {
		all = append(all, corev1.PodIP{IP: ip})
	}
	if len(all) > 0 {
		first = all[0].IP
	}
	return first, all
}

// RemoteIP is what people are told of the address of a remote pod, or "".
func RemoteIP(remote *corev1.Pod) string {
	return strings.Join(addresses(&remote.Status, network.IsOfPods), ",")
}

// addresses are at most one IP of each family, in canonical form: what the API
// server allows.
func addresses(from *corev1.PodStatus, allowed func(netip.Addr) bool) []string {
	var list []string
	var has4, has6 bool
	add := func(s string) {
		ip, err := netip.ParseAddr(s)
		if err != nil || !allowed(ip) || ip.Is4() && has4 || ip.Is6() && has6 {
			return
		}
		has4, has6 = has4 || ip.Is4(), has6 || ip.Is6()
		list = append(list, ip.String())
	}
	add(from.PodIP)
	for i := 0; i < len(from.PodIPs) && (!has4 || !has6); i++ {
		add(from.PodIPs[i].IP)
	}
	return list
}
