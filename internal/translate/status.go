package translate

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodStatus is the status that local should have, out of remote's. What comes
// from the provider is checked and bounded value by value, and what is not
// mentioned here (QoS class, nominated node, generation, claims) stays as it is
// locally. Whatever remote says, the result is a status that the consumer's API
// server accepts in place of local's.
//
// A phase that is final stays so, and Running never becomes Pending again.
//
// The status shares memory with local and remote: it is to be read, or copied.
func PodStatus(local, remote *corev1.Pod) corev1.PodStatus {
	if isFinal(local.Status.Phase) {
		return local.Status
	}
	from, to := &remote.Status, local.Status
	to.Phase = phase(local.Status.Phase, from.Phase)
	to.Reason, to.Message = bounded(from.Reason, maxReason), bounded(from.Message, maxMessage)
	to.StartTime = startTime(local.Status.StartTime, from.StartTime)
	to.HostIP, to.HostIPs = hostIPs(from)
	to.PodIP, to.PodIPs = podIPs(from)

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

// addresses are at most one IP of each family: what the API server allows.
type addresses struct {
	list [2]string
	n    int
	is4  bool
}

// add takes an IP in canonical form if it is one, and the first of its family.
// Forms that programs read in different ways, such as ::ffff:10.0.0.1, are none.
func (a *addresses) add(s string) {
	ip, err := netip.ParseAddr(s)
	if err != nil || ip.Zone() != "" || ip.Is4In6() || a.n == len(a.list) || a.n == 1 && a.is4 == ip.Is4() {
		return
	}
	a.list[a.n], a.is4 = ip.String(), ip.Is4()
	a.n++
}

func podIPs(from *corev1.PodStatus) (first string, all []corev1.PodIP) {
	var a addresses
	a.add(from.PodIP)
	for i := range from.PodIPs {
		a.add(from.PodIPs[i].IP)
	}
	for _, ip := range a.list[:a.n] {
		all = append(all, corev1.PodIP{IP: ip})
	}
	return a.list[0], all
}

func hostIPs(from *corev1.PodStatus) (first string, all []corev1.HostIP) {
	var a addresses
	a.add(from.HostIP)
	for i := range from.HostIPs {
		a.add(from.HostIPs[i].IP)
	}
	for _, ip := range a.list[:a.n] {
		all = append(all, corev1.HostIP{IP: ip})
	}
	return a.list[0], all
}
