package translate

import (
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
)

// PodStatus is the status that local should have, from remote's. Values from the
// provider are checked and bounded one by one. What is not mentioned here (QoS class,
// nominated node, generation, claims) keeps its local value. Whatever remote says, the
// consumer's API server accepts the result in place of local's.
//
// A final phase stays, and Running never becomes Pending again.
//
// It has only the addresses that reach shows, and never one of the provider's nodes. No time in it
// is later than now, whatever the provider's clock says. ahead is how far that is ahead, if known.
//
// The status shares memory with local and remote: read it, or copy it.
func PodStatus(local, remote *corev1.Pod, reach network.Reach, at time.Time, ahead time.Duration) corev1.PodStatus {
	if isFinal(local.Status.Phase) {
		return local.Status
	}
	from, to, now := &remote.Status, local.Status, metav1.NewTime(at.Truncate(time.Second))
	to.Phase = phase(local.Status.Phase, from.Phase)
	to.Reason, to.Message = reason(from.Reason), bounded(from.Message, maxMessage)
	to.StartTime = startTime(local.Status.StartTime, from.StartTime, now)
	to.HostIP, to.HostIPs = "", nil
	to.PodIP, to.PodIPs = podIPs(local, remote, reach)

	spec := &local.Spec
	restarts := restartRules(spec)
	to.InitContainerStatuses = containerStatuses(spec.InitContainers, local.Status.InitContainerStatuses, from.InitContainerStatuses, restarts, now)
	to.ContainerStatuses = containerStatuses(spec.Containers, local.Status.ContainerStatuses, from.ContainerStatuses, restarts, now)
	to.EphemeralContainerStatuses = ephemeralStatuses(spec.EphemeralContainers, local.Status.EphemeralContainerStatuses, from.EphemeralContainerStatuses, now)
	if spec.Resources != nil {
		to.AllocatedResources = resourceList(from.AllocatedResources, spec.Resources)
		to.Resources = resourceRequirements(from.Resources, spec.Resources)
	}
	to.Conditions = conditions(local, remote, now, ahead)
	return to
}

// reason is remote's, unless it is one that only Spillway gives: what follows from those is not for
// a provider to decide.
func reason(remote string) string {
	if remote == v1alpha1.ReasonRemotePodLost || remote == v1alpha1.ReasonPodDeleted {
		return ""
	}
	return bounded(remote, maxReason)
}

func isFinal(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// phase is remote's, unless it is unknown or would revert that the pod runs.
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

func startTime(local, remote *metav1.Time, now metav1.Time) *metav1.Time {
	if remote.IsZero() || !isSane(*remote) { // A zero one would come back as none, and be written again.
		return local
	}
	started := reportedTime(*remote, ptr.Deref(local, metav1.Time{}), now)
	return &started
}

// podIPs are the remote pod's addresses that reach shows, or, while reach is
// pending, the local pod's current ones.
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

// RemoteIP is the remote pod's address, for people, or "".
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
