// Package status turns the status of a remote pod into the status of the local one. A status from the provider
// is untrusted input: it is copied, checked and bounded value by value.
package status

import (
	"net/netip"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/network"
	"github.com/spillway-io/spillway/internal/field"
)

// Of returns the status that local should have, derived from remote's. It checks and bounds each
// value from the provider. The QoS class, nominated node, generation and claims keep their local
// values. Whatever remote says, the consumer's API server accepts the result.
//
// A final phase stays, and Running never becomes Pending again.
//
// The result has only addresses that reach shows, and never an address of the provider's nodes. None of
// its times is later than at, even if the provider's clock is ahead. ahead is how far that clock is
// ahead, if known.
//
// The status shares memory with local and remote. Callers may read it, but must copy it before they
// change it.
func Of(local, remote *corev1.Pod, reach network.Reach, at time.Time, ahead time.Duration) corev1.PodStatus {
	if isFinal(local.Status.Phase) {
		return local.Status
	}
	from, to, now := &remote.Status, local.Status, metav1.NewTime(at.Truncate(time.Second))
	to.Phase = phase(local.Status.Phase, from.Phase)
	to.Reason, to.Message = reason(from.Reason), field.Bounded(from.Message, field.MaxMessage)
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

// reason returns remote's reason, unless it is one that only Spillway may set. A provider must not
// cause what follows from those.
func reason(remote string) string {
	if remote == v1alpha1.ReasonRemotePodLost || remote == v1alpha1.ReasonPodDeleted {
		return ""
	}
	return field.Bounded(remote, field.MaxReason)
}

func isFinal(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}

// phase returns remote's phase. It returns local's if remote's is unknown, or if remote's would turn a
// running pod back to pending.
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
	if remote.IsZero() || !field.IsSane(*remote) { // The API server would return a zero time as none, so it would be written again.
		return local
	}
	started := field.ReportedTime(*remote, ptr.Deref(local, metav1.Time{}), now)
	return &started
}

// podIPs returns the remote pod's addresses that reach shows. While reach is pending, it returns the
// local pod's current addresses.
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

// RemoteIP returns the remote pod's addresses for people, or "".
func RemoteIP(remote *corev1.Pod) string {
	return strings.Join(addresses(&remote.Status, network.IsOfPods), ",")
}

// addresses returns at most one IP of each family, in canonical form, because the API server allows no
// more.
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
