package namespacemap

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/text"
)

// maxMessage is the limit of a message in the API.
const maxMessage = 512

// Report returns the status of a NamespaceMap: what is known about each entry, and since when it is in its phase. It
// leaves out entries about which nothing is known. Another reason does not change the time: a provider that is away now
// and then would restart it each time, and no alert would ever tell of a namespace that is terminating for days.
func Report(nsm *v1alpha1.NamespaceMap, known map[string]Known, now metav1.Time) v1alpha1.NamespaceMapStatus {
	status := v1alpha1.NamespaceMapStatus{ObservedGeneration: nsm.Generation, LeavingPods: nsm.Status.LeavingPods}
	before := make(map[string]v1alpha1.CurrentMapping, len(nsm.Status.CurrentMapping))
	for _, entry := range nsm.Status.CurrentMapping {
		before[entry.Namespace] = entry
	}
	for namespace, k := range known {
		entry := v1alpha1.CurrentMapping{
			Namespace: namespace, RemoteNamespace: k.RemoteNamespace,
			Phase: k.Phase, Reason: k.Reason, Message: bounded(k.Message), Since: &now,
		}
		if b, ok := before[namespace]; ok && b.RemoteNamespace == entry.RemoteNamespace && b.Phase == entry.Phase && b.Since != nil {
			entry.Since = b.Since
		}
		status.CurrentMapping = append(status.CurrentMapping, entry)
	}
	slices.SortFunc(status.CurrentMapping, func(a, b v1alpha1.CurrentMapping) int {
		return strings.Compare(a.Namespace, b.Namespace)
	})
	count(&status, nsm.Spec.DesiredMapping)
	return status
}

// Unreachable returns the status of a NamespaceMap whose provider does not answer. Entries that are still
// desired keep their last known phase and its time, and say that nothing newer is known. The spec has not been processed,
// so observedGeneration stays. An entry with volumes stays as it is: deletions must not forget the data.
func Unreachable(nsm *v1alpha1.NamespaceMap, message string, now metav1.Time) v1alpha1.NamespaceMapStatus {
	status := *nsm.Status.DeepCopy()
	desired := make(map[string]bool, len(nsm.Spec.DesiredMapping))
	for _, entry := range nsm.Spec.DesiredMapping {
		desired[entry.Namespace] = true
	}
	for i := range status.CurrentMapping {
		entry := &status.CurrentMapping[i]
		phase := entry.Phase
		if !desired[entry.Namespace] {
			phase = v1alpha1.MappingTerminating
		}
		if entry.Reason == v1alpha1.ReasonVolumesRemain || entry.Phase == phase && entry.Reason == v1alpha1.ReasonProviderUnreachable {
			continue
		}
		if entry.Phase != phase || entry.Since == nil {
			entry.Since = &now
		}
		entry.Phase, entry.Reason, entry.Message = phase, v1alpha1.ReasonProviderUnreachable, bounded(message)
	}
	count(&status, nsm.Spec.DesiredMapping)
	return status
}

func count(status *v1alpha1.NamespaceMapStatus, desired []v1alpha1.DesiredMapping) {
	phases := make(map[string]v1alpha1.MappingPhase, len(status.CurrentMapping))
	for _, entry := range status.CurrentMapping {
		phases[entry.Namespace] = entry.Phase
	}
	var ready, failed int32
	for _, entry := range desired {
		switch phases[entry.Namespace] {
		case v1alpha1.MappingAccepted:
			ready++
		case v1alpha1.MappingCreationLoopBackOff:
			failed++
		case v1alpha1.MappingTerminating:
		}
	}
	status.Desired = ptr.To(int32(min(len(desired), 1<<30))) //nolint:gosec // Bounded just here.
	status.Ready, status.Failed = &ready, &failed
}

// bounded cleans and limits a message, because part of it may come from a provider.
func bounded(message string) string { return text.Bound(message, maxMessage) }
