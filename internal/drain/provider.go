package drain

import (
	"fmt"
	"strings"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/mountns"
	"github.com/spillway-io/spillway/internal/seeded"
)

// NeedsProvider tells whether there is anything left to do in the provider, so
// that it has to be connected.
func NeedsProvider(s Snapshot) bool {
	if s.Duplicate || s.skipped() {
		return false
	}
	return s.NamespaceMap != nil || s.Pods.Count > 0 || len(s.Copies) > 0 || mountns.MayExist(s.Binding)
}

// skipped tells whether nothing is done in the provider.
func (s Snapshot) skipped() bool {
	return s.Binding.Spec.DeletionPolicy == v1alpha1.DeletionPolicyOrphan
}

// unused tells whether nothing can be in the provider, because it was never
// connected.
func (s Snapshot) unused() bool { return s.Binding.Status.RemoteClusterUID == "" }

// pods waits for the pods on the virtual node to be gone.
func pods(s Snapshot) *Plan {
	if s.Pods.Count == 0 || s.skipped() || s.unused() {
		return nil
	}
	refusals := s.Pods.Refusals()
	if refusals != "" {
		refusals = "; " + refusals
	}
	return s.remotely(v1alpha1.ReasonEvictingPods,
		fmt.Sprintf("%s: being evicted from the virtual node%s", s.Pods, refusals),
		fmt.Sprintf("for %s to end there", s.Pods)+refusals)
}

// copies waits for what the pods needed to be gone from the provider.
func copies(s Snapshot) *Plan {
	if len(s.Copies) == 0 || s.skipped() || s.unused() {
		return nil
	}
	what := fmt.Sprintf("the copies of %d objects%s", len(s.Copies), listed(s.Copies))
	return s.remotely(v1alpha1.ReasonDeletingCopies, what+" are being deleted", "to delete "+what+" there")
}

// namespaces waits for the remote namespaces to be gone.
func namespaces(s Snapshot) *Plan {
	left := s.remoteNamespaces()
	if s.skipped() || s.unused() || s.emptied(left) || seeded.On(seeded.DrainForgetsNamespaces) {
		return nil
	}
	return s.remotely(v1alpha1.ReasonDeletingNamespaces,
		fmt.Sprintf("%d remote namespaces are being deleted%s", len(left), listed(left)),
		fmt.Sprintf("to delete %d remote namespaces%s there", len(left), listed(left)))
}

// emptied tells whether it is certain that no remote namespace is left.
func (s Snapshot) emptied(left []string) bool {
	if mountns.MayExist(s.Binding) {
		return false
	}
	nsm := s.NamespaceMap
	if nsm == nil {
		return true
	}
	// A map that was never looked at while the provider could be used: nothing was created.
	untouched := nsm.Status.ObservedGeneration == 0 && !s.Connected
	return untouched || (len(left) == 0 && nsm.Status.ObservedGeneration == nsm.Generation)
}

// remotely waits for what happens in the provider; nil if it has been waited for
// long enough. during and unreachable say what is waited for.
func (s Snapshot) remotely(reason, during, unreachable string) *Plan {
	if s.Connected {
		wait := step(Wait, reason, during)
		return &wait
	}
	wait := step(Wait, v1alpha1.ReasonProviderUnreachable, fmt.Sprintf("the deletion waits for the provider, %s: %s", unreachable, s.Unreachable))
	if timeout := s.Binding.Spec.Unreachable.DeletionTimeout; timeout != nil {
		wait.RetryAfter = s.Binding.DeletionTimestamp.Add(timeout.Duration).Sub(s.Now)
		if wait.RetryAfter <= 0 {
			return nil
		}
	}
	return &wait
}

// remoteNamespaces are those that are there, or may be.
func (s Snapshot) remoteNamespaces() []string {
	var names []string
	if mountns.MayExist(s.Binding) {
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
		if !seen[entry.Namespace] {
			names = append(names, entry.RemoteNamespace)
		}
	}
	return names
}

// listed names the first few.
func listed(names []string) string {
	const most = 5
	switch {
	case len(names) == 0:
		return ""
	case len(names) > most:
		return fmt.Sprintf(" (%s, and %d more)", strings.Join(names[:most], ", "), len(names)-most)
	default:
		return " (" + strings.Join(names, ", ") + ")"
	}
}
