package drain

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/mountnamespace"
	"github.com/spillway-io/spillway/internal/decide/namespacemap"
	"github.com/spillway-io/spillway/internal/field/text"
)

// NeedsProvider reports whether anything is left to do in the provider, so that it must be connected.
func NeedsProvider(s Snapshot) bool {
	if s.Duplicate || s.skipped() {
		return false
	}
	return s.NamespaceMap != nil || s.Pods.Count > 0 || len(s.Copies) > 0 || mountnamespace.MayExist(s.Binding) || s.mayHoldVolumes()
}

// skipped reports whether the steps in the provider are skipped.
func (s Snapshot) skipped() bool {
	return s.Binding.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan
}

// unused reports whether the provider was never connected, so that nothing can be there.
func (s Snapshot) unused() bool { return s.Binding.Status.RemoteClusterUID == "" }

// pods waits until the pods on the virtual node are gone.
func pods(s Snapshot) *Plan {
	if s.Pods.Count == 0 || s.skipped() || s.unused() {
		return nil
	}
	reason, refusals := v1alpha1.ReasonEvictingPods, s.Pods.Refusals()
	if refusals != "" {
		reason, refusals = v1alpha1.ReasonEvictionsRefused, "; "+refusals
	}
	return s.waitForProvider(reason,
		fmt.Sprintf("%s: being evicted from the virtual node%s", s.Pods, refusals),
		fmt.Sprintf("for %s to end there", s.Pods)+refusals)
}

// copies waits until the copies that pods needed are gone from the provider.
func copies(s Snapshot) *Plan {
	if len(s.Copies) == 0 || s.skipped() || s.unused() {
		return nil
	}
	what := fmt.Sprintf("the copies of %s%s", counted(len(s.Copies), "object"), listed(s.Copies))
	if s.Connected && s.Limited.Reason != "" { // There may be copies of a kind that cannot be read.
		wait := step(Wait, v1alpha1.ReasonDeletingCopies, what+" are being deleted; the provider "+s.Limited.What)
		return s.untilTimeout(&wait)
	}
	return s.waitForProvider(v1alpha1.ReasonDeletingCopies, what+" are being deleted", "to delete "+what+" there")
}

// namespaces waits until the remote namespaces are gone.
func namespaces(s Snapshot) *Plan {
	left := s.remoteNamespaces()
	if s.skipped() {
		return nil
	}
	// The statuses and the NamespaceMap may be missing, for example after a restore. The records say what they do not.
	if nothing := s.unused() || s.emptied(left); nothing && (s.Connected && s.NamespaceMap != nil || !s.mayHoldVolumes()) {
		return nil
	}
	if volumes := s.volumes(); volumes != "" { // No timeout gives up data.
		wait := step(Wait, v1alpha1.ReasonVolumesRemain, volumes)
		return &wait
	}
	are := "are"
	if len(left) == 1 {
		are = "is"
	}
	what := counted(len(left), "remote namespace")
	plan := s.waitForProvider(v1alpha1.ReasonDeletingNamespaces,
		fmt.Sprintf("%s %s being deleted%s%s", what, are, listed(left), s.whyRemaining()), fmt.Sprintf("to delete %s%s there", what, listed(left)))
	if s.Connected && s.deletionRequested() {
		return s.untilTimeout(plan)
	}
	return plan
}

// volumes says which remote namespaces are not deleted because of the volumes in them. It returns "" if there are
// none, or if their loss is allowed. A provider that does not answer has, for all that is known, the volumes that
// PersistentVolumes of the consumer stand for.
func (s Snapshot) volumes() string {
	if namespacemap.LosesVolumes(s.Binding) {
		return ""
	}
	var all []string
	if !s.Connected && len(s.Volumes) > 0 {
		all = append(all, fmt.Sprintf("the deletion waits for the provider, which may have the volumes of PersistentVolumes %s: %s; to leave them there, set spec.deletionPolicy to %s, or the annotation %s=%s",
			text.Few(s.Volumes, most), s.Unreachable, v1alpha1.DeletionPolicyOrphan, v1alpha1.AnnotationLoseVolumes, v1alpha1.LoseVolumes))
	}
	if s.Connected && s.NamespaceMap == nil && s.mayHoldVolumes() {
		all = append(all, fmt.Sprintf("the NamespaceMap is gone, and remote namespaces may have the volumes of PersistentVolumes %s; "+
			"delete their claims and these PersistentVolumes, or, to leave them there, set spec.deletionPolicy to %s, or the annotation %s=%s", text.Few(s.Volumes, most), v1alpha1.DeletionPolicyOrphan, v1alpha1.AnnotationLoseVolumes, v1alpha1.LoseVolumes))
	}
	if c := meta.FindStatusCondition(s.Binding.Status.Conditions, v1alpha1.BindingMountNamespaceReady); c != nil && c.Reason == v1alpha1.ReasonVolumesRemain {
		all = append(all, s.Binding.Spec.MountNamespace+": "+c.Message)
	}
	if s.NamespaceMap != nil {
		for i := range s.NamespaceMap.Status.CurrentMapping {
			if entry := &s.NamespaceMap.Status.CurrentMapping[i]; entry.Reason == v1alpha1.ReasonVolumesRemain {
				all = append(all, entry.RemoteNamespace+": "+entry.Message)
			}
		}
	}
	if more := len(all) - mostNamed; more > 0 {
		all = append(all[:mostNamed:mostNamed], fmt.Sprintf("and %d more remote namespaces", more))
	}
	return strings.Join(all, "; ")
}

// mayHoldVolumes reports whether PersistentVolumes of the consumer say that the provider has volumes, which nobody has
// given up.
func (s Snapshot) mayHoldVolumes() bool { return s.recorded() && !namespacemap.LosesVolumes(s.Binding) }

// recorded reports whether PersistentVolumes of the consumer stand for volumes in the provider, and the deletion has
// not passed its remote namespaces. What is recorded after that has lost its volume. A pause hides how far the deletion
// was. Then the records count: to wait for somebody's word loses nothing.
func (s Snapshot) recorded() bool {
	switch conditions.Reason(s.Binding.Status.Conditions, v1alpha1.BindingDrained) {
	case v1alpha1.ReasonDeletingNamespaceMap, v1alpha1.ReasonReleasingObjects, v1alpha1.ReasonDeletingNode, v1alpha1.ReasonDeletingLease:
		return false
	}
	return len(s.Volumes) > 0
}

// mostNamed is how many remote namespaces with volumes a message names. Each has a message of its own.
const mostNamed = 3

// deletionRequested reports whether the deletion of all remaining remote namespaces has been requested. Before
// that, the provider has had no time for it.
func (s Snapshot) deletionRequested() bool {
	switch conditions.Reason(s.Binding.Status.Conditions, v1alpha1.BindingMountNamespaceReady) {
	case v1alpha1.ReasonPending, v1alpha1.ReasonNamespaceActive:
		return false
	}
	nsm := s.NamespaceMap
	if nsm == nil {
		return true
	}
	return len(nsm.Spec.DesiredMapping) == 0 && nsm.Status.ObservedGeneration == nsm.Generation &&
		!slices.ContainsFunc(nsm.Status.CurrentMapping, func(entry v1alpha1.CurrentMapping) bool {
			return entry.Phase == v1alpha1.MappingAccepted
		})
}

// emptied reports whether it is certain that no remote namespace is left.
func (s Snapshot) emptied(left []string) bool {
	if mountnamespace.MayExist(s.Binding) {
		return false
	}
	nsm := s.NamespaceMap
	if nsm == nil {
		return true
	}
	// A map that was never processed while the provider was usable has created nothing.
	untouched := nsm.Status.ObservedGeneration == 0 && !s.Connected
	return untouched || (len(left) == 0 && nsm.Status.ObservedGeneration == nsm.Generation)
}

// waitForProvider returns a plan to wait for the provider. It returns nil once deletionTimeout has passed for a
// provider that does not answer. during and unreachable are the messages.
func (s Snapshot) waitForProvider(reason, during, unreachable string) *Plan {
	if s.Connected {
		wait := step(Wait, reason, during)
		return &wait
	}
	wait := step(Wait, v1alpha1.ReasonProviderUnreachable, fmt.Sprintf("the deletion waits for the provider, %s: %s", unreachable, s.Unreachable))
	return s.untilTimeout(&wait)
}

// untilTimeout returns the plan to wait until deletionTimeout has passed, then nil.
func (s Snapshot) untilTimeout(wait *Plan) *Plan {
	timeout := s.Binding.Spec.Unreachable.DeletionTimeout
	if timeout == nil {
		return wait
	}
	wait.RetryAfter = s.Binding.DeletionTimestamp.Add(timeout.Duration).Sub(s.Now)
	if wait.RetryAfter <= 0 {
		return nil
	}
	return wait
}

// remoteNamespaces returns the remote namespaces that exist, or may exist.
func (s Snapshot) remoteNamespaces() []string {
	var names []string
	if mountnamespace.MayExist(s.Binding) {
		names = append(names, s.Binding.Spec.MountNamespace)
	}
	if s.NamespaceMap == nil {
		return names
	}
	seen := map[string]bool{}
	for _, entry := range s.NamespaceMap.Status.CurrentMapping {
		if entry.Phase != v1alpha1.MappingCreationLoopBackOff {
			names, seen[entry.Namespace] = append(names, entry.RemoteNamespace), true
		}
	}
	for _, entry := range s.NamespaceMap.Spec.DesiredMapping {
		if !seen[entry.Namespace] && !slices.Contains(names, entry.RemoteNamespace) { // Two entries may ask for one name.
			names = append(names, entry.RemoteNamespace)
		}
	}
	return names
}

// whyRemaining says why the first remote namespace that cannot be deleted is still there. It begins with the mount
// namespace.
func (s Snapshot) whyRemaining() string {
	if c := meta.FindStatusCondition(s.Binding.Status.Conditions, v1alpha1.BindingMountNamespaceReady); c != nil && mountnamespace.MayExist(s.Binding) {
		mount := v1alpha1.CurrentMapping{Phase: v1alpha1.MappingTerminating, Reason: c.Reason, Message: text.Clean(c.Message)}
		if why := namespacemap.WhyRemaining(&mount); why != "" {
			return "; " + s.Binding.Spec.MountNamespace + ": " + why
		}
	}
	if s.NamespaceMap == nil {
		return ""
	}
	for i := range s.NamespaceMap.Status.CurrentMapping {
		entry := &s.NamespaceMap.Status.CurrentMapping[i]
		if why := namespacemap.WhyRemaining(entry); why != "" {
			return "; " + entry.RemoteNamespace + ": " + why
		}
	}
	return ""
}

// counted returns a number with its noun, such as "1 object" or "2 objects".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// listed names the first few, in parentheses.
func listed(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " (" + text.Few(names, most) + ")"
}

// most is how many names a message has.
const most = 5
