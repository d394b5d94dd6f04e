// Package namespaceoffloading decides, without any I/O, the status of a NamespaceOffloading, and when its
// deletion is finished.
package namespaceoffloading

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/retry"
)

// Cluster is what is known about the offloading at one provider.
type Cluster struct {
	ClusterID string
	// Selected reports whether the offloading selects the provider.
	Selected bool
	// Leaving is the name of the ClusterBinding, if the offloading does not select it only because it is
	// being deleted; otherwise "".
	Leaving string
	// RemoteNamespace is the desired or existing name.
	RemoteNamespace string
	// Desired reports whether the NamespaceMap asks for the remote namespace. An entry stays until the status
	// reports on it. So without an entry and a report, nothing was created.
	Desired bool
	// Current is the entry of the NamespaceMap's status, if there is one.
	Current *v1alpha1.CurrentMapping
	// Recorded are the claims in the remote namespace for whose volumes PersistentVolumes of the consumer stand, if no
	// NamespaceMap says whether the remote namespace exists: somebody has deleted it.
	Recorded []string
	// Unreachable says why the provider cannot be reached; empty if it can.
	Unreachable string
	// Refused says which of the manager's writes the consumer refuses; empty if none.
	Refused string
	// Pods are the pods of the namespace that must leave the virtual node, if the offloading no longer wants
	// them there.
	Pods eviction.Remaining
	// Away is the reason why the provider cannot be used, and AwaySince since when, if known. Away is empty
	// if the provider can be used.
	Away      string
	AwaySince time.Time
	// DeletionTimeout is how long a deletion waits for a provider that cannot be reached, or that does not
	// delete the remote namespace; zero: forever.
	DeletionTimeout time.Duration
}

// Snapshot is the input of the decisions.
type Snapshot struct {
	Offloading *v1alpha1.NamespaceOffloading
	// RemoteName is the name that the remote namespaces should have.
	RemoteName string
	// Refusal says why the namespace cannot be offloaded at all; empty if it can.
	Refusal string
	// Clusters are the providers that are selected or still have an entry, sorted by
	// ClusterID.
	Clusters []Cluster
	// Tiers are the tiers of spec.overflow. Overlaps are the providers that several tiers select.
	Tiers    []spill.Tier
	Overlaps []spill.Overlap
	// Outdated are the waiting pods with an earlier node affinity.
	Outdated eviction.Remaining
	// Waiting are the pods that wait for a node.
	Waiting Waiting
	Now     time.Time
}

// Plan is the status to report.
type Plan struct {
	Status v1alpha1.NamespaceOffloadingStatus
	// Outdated is a new event about pods that wait with an earlier affinity; empty if it was already
	// reported.
	Outdated string
	// Progress reports that the phase and the step are the same as in the stored status, and that more
	// changes will come. The report may then wait. With many providers that saves a write for each.
	Progress bool
	// RecheckAfter is how long until there may be more to report even if nothing happens; zero: never.
	RecheckAfter time.Duration
}

// Decide computes the status.
func Decide(s Snapshot) Plan {
	before := s.Offloading.Status
	status := *before.DeepCopy()
	status.ObservedGeneration = s.Offloading.Generation
	status.RemoteNamespaceName = s.RemoteName
	if s.Refusal != "" {
		status.RemoteNamespaceName = "" // The remote namespace does not exist, and never will.
	}
	status.RemoteNamespaceConditions = s.remoteConditions()
	phase, condition := s.summary()
	status.OffloadingPhase = phase
	conditions.Set(&status.Conditions, s.Offloading.Generation, condition)

	again := s.setOutage(&status.Conditions)
	outdated := s.setOutdated(&status.Conditions)
	setOverflow(&status, s)
	reopens := SetFull(&status, s.Offloading, spill.Read(s.Offloading), s.Now)

	plan := Plan{Status: status, RecheckAfter: retry.Sooner(retry.Sooner(again, s.Waiting.UnfitAfter), reopens)}
	if !reportsOutdated(s.Offloading) || before.ObservedGeneration != s.Offloading.Generation {
		plan.Outdated = outdated
	}
	// The number of pods that wait, or must leave, may change with each pod.
	goesOn := phase == v1alpha1.OffloadingPhaseInProgress || phase == v1alpha1.OffloadingPhaseTerminating || s.evicts() ||
		(s.Outdated.Count+s.Waiting.Virtual.Count+s.Waiting.Unfit.Count > 0 && ReportsWaiting(s.Offloading) && equality.Semantic.DeepEqual(before.RemoteNamespaceConditions, status.RemoteNamespaceConditions))
	sameStep := before.OffloadingPhase == phase && condition.Reason == conditions.Reason(before.Conditions, v1alpha1.OffloadingReady)
	// New pods get their first tier from the status.
	sameTiers := equality.Semantic.DeepEqual(before.Overflow, status.Overflow) && equality.Semantic.DeepEqual(before.Full, status.Full)
	plan.Progress = goesOn && sameStep && sameTiers && before.ObservedGeneration == s.Offloading.Generation
	return plan
}

// setOutdated reports which pods wait with an earlier affinity, and what the user can do. It returns the
// message, or "".
func (s Snapshot) setOutdated(all *[]metav1.Condition) string {
	if s.Outdated.Count == 0 || !s.Offloading.DeletionTimestamp.IsZero() {
		meta.RemoveStatusCondition(all, v1alpha1.OffloadingPodsCurrent)
		return ""
	}
	waits := "wait"
	if s.Outdated.Count == 1 {
		waits = "waits"
	}
	message := fmt.Sprintf("%s %s with an outdated node affinity, which is immutable: delete them, or restart their workload (kubectl rollout restart)",
		s.Outdated, waits)
	conditions.Set(all, s.Offloading.Generation, conditions.New(v1alpha1.OffloadingPodsCurrent, metav1.ConditionFalse, v1alpha1.ReasonPodsOutdated, message))
	return message
}

// reportsOutdated reports whether the status says that such pods wait.
func reportsOutdated(nso *v1alpha1.NamespaceOffloading) bool {
	return meta.FindStatusCondition(nso.Status.Conditions, v1alpha1.OffloadingPodsCurrent) != nil
}

// ReportsWaiting reports whether the status of an offloading names pods of the namespace that wait for a node.
// Then the status may have to change whenever such a pod is added or removed.
func ReportsWaiting(nso *v1alpha1.NamespaceOffloading) bool {
	return !nso.DeletionTimestamp.IsZero() || len(nso.Spec.Overflow) > 0 || reportsOutdated(nso) || nso.Status.OffloadingPhase == v1alpha1.OffloadingPhaseNoClusterSelected
}

// summary returns the phase and the condition Ready. It ignores entries that are not required.
func (s Snapshot) summary() (v1alpha1.OffloadingPhase, metav1.Condition) {
	if !s.Offloading.DeletionTimestamp.IsZero() {
		reason, message := s.deletionStep()
		if s.Waiting.Stranded.Count > 0 {
			message = StrandedMessage(s.Waiting.Stranded) + "; " + message // At the beginning, because long messages are truncated at the end.
		}
		return v1alpha1.OffloadingPhaseTerminating, conditions.New(v1alpha1.OffloadingReady, metav1.ConditionFalse, reason, message)
	}
	phase, message := s.phase()
	reason := string(phase)
	status := metav1.ConditionFalse
	if phase == v1alpha1.OffloadingPhaseReady {
		status = metav1.ConditionTrue
	}
	return phase, conditions.New(v1alpha1.OffloadingReady, status, reason, message)
}

func (s Snapshot) phase() (v1alpha1.OffloadingPhase, string) {
	if s.Refusal != "" {
		return v1alpha1.OffloadingPhaseRefused, s.Refusal
	}
	var required, ready int
	var failed, pending []string
	for _, c := range s.Clusters {
		if !c.Selected {
			continue
		}
		required++
		switch {
		case c.Current != nil && c.Current.Phase == v1alpha1.MappingAccepted:
			ready++
		case c.Current != nil && c.Current.Phase == v1alpha1.MappingCreationLoopBackOff:
			failed = append(failed, c.ClusterID+": "+c.Current.Message)
		default:
			_, message := c.pending()
			pending = append(pending, c.ClusterID+": "+message)
		}
	}
	switch {
	case required == 0:
		return v1alpha1.OffloadingPhaseNoClusterSelected, s.noneSelected()
	case ready == required:
		return v1alpha1.OffloadingPhaseReady, fmt.Sprintf("%d of %d remote namespaces are ready", ready, required)
	case len(failed) == required:
		return v1alpha1.OffloadingPhaseAllFailed, strings.Join(failed, "; ")
	case len(failed) > 0:
		return v1alpha1.OffloadingPhaseSomeFailed, strings.Join(append(failed, pending...), "; ")
	default:
		return v1alpha1.OffloadingPhaseInProgress, strings.Join(pending, "; ")
	}
}

// noneSelected says why no provider is selected, and what is left in the providers that are being removed.
func (s Snapshot) noneSelected() string {
	var leaving []string
	for _, c := range s.Clusters {
		if c.Leaving != "" {
			leaving = append(leaving, c.Leaving+c.withPods())
		}
	}
	if len(leaving) == 0 {
		return "clusterSelector selects no ClusterBinding: compare it with the spec.virtualNode.labels of the ClusterBindings" + unschedulablePods(s.Waiting.Virtual)
	}
	return "clusterSelector selects only ClusterBindings that are being deleted: " + strings.Join(leaving, "; ") + unschedulablePods(s.Waiting.Virtual)
}

// unschedulablePods names the pods that no node can run. Replacements would wait for the same nodes, so these pods
// are left alone.
func unschedulablePods(virtual eviction.Remaining) string {
	if virtual.Count == 0 {
		return ""
	}
	return "; pods that can run only on virtual nodes wait until it selects another one: " + virtual.String()
}

// evicts reports whether pods are leaving a provider that is being removed.
func (s Snapshot) evicts() bool {
	return slices.ContainsFunc(s.Clusters, func(c Cluster) bool { return c.Leaving != "" && c.Pods.Count > 0 })
}

func (s Snapshot) remoteConditions() []v1alpha1.RemoteNamespaceStatus {
	var remotes []v1alpha1.RemoteNamespaceStatus
	for _, c := range s.Clusters {
		if !c.Selected && !c.Desired && c.Current == nil {
			continue
		}
		remote := v1alpha1.RemoteNamespaceStatus{Cluster: c.ClusterID, RemoteNamespace: c.RemoteNamespace}
		if before := s.before(c.ClusterID); before != nil {
			remote.Conditions = slices.Clone(before.Conditions)
		}
		conditions.Set(&remote.Conditions, s.Offloading.Generation, s.required(c))
		conditions.Set(&remote.Conditions, s.Offloading.Generation, c.ready())
		remotes = append(remotes, remote)
	}
	return remotes
}

func (s Snapshot) before(clusterID string) *v1alpha1.RemoteNamespaceStatus {
	for i := range s.Offloading.Status.RemoteNamespaceConditions {
		if r := &s.Offloading.Status.RemoteNamespaceConditions[i]; r.Cluster == clusterID {
			return r
		}
	}
	return nil
}

func (s Snapshot) required(c Cluster) metav1.Condition {
	if c.Selected && s.Offloading.DeletionTimestamp.IsZero() {
		return conditions.New(v1alpha1.RemoteNamespaceRequired, metav1.ConditionTrue, v1alpha1.ReasonClusterSelected, "")
	}
	message := "the remote namespace is no longer needed"
	if c.Pods.Count > 0 {
		// The number of pods changes with each pod, and would cause a write each time.
		message += "; the pods of the namespace are evicted from the virtual node first"
		if refusals := c.Pods.Refusals(); refusals != "" {
			message += "; " + refusals
		}
	}
	return conditions.New(v1alpha1.RemoteNamespaceRequired, metav1.ConditionFalse, v1alpha1.ReasonClusterNotSelected, message)
}

func (c Cluster) ready() metav1.Condition {
	switch {
	case c.Current == nil:
		reason, message := c.pending()
		return conditions.New(v1alpha1.RemoteNamespaceReady, metav1.ConditionFalse, reason, message)
	case c.Current.Phase == v1alpha1.MappingAccepted:
		// An existing namespace stays ready while its provider cannot be reached for a while. The
		// ClusterBinding, its Node and the NamespaceMap report that in one write each, instead of one for
		// every namespace.
		return conditions.New(v1alpha1.RemoteNamespaceReady, metav1.ConditionTrue, v1alpha1.ReasonNamespaceActive, "")
	default:
		return conditions.New(v1alpha1.RemoteNamespaceReady, metav1.ConditionFalse, cmp.Or(c.Current.Reason, string(c.Current.Phase)), c.Current.Message)
	}
}

// pending says what a missing entry waits for.
func (c Cluster) pending() (reason, message string) {
	switch {
	case c.Unreachable != "":
		return v1alpha1.ReasonProviderUnreachable, c.Unreachable
	case c.Current != nil:
		return c.Current.Reason, c.Current.Message
	case c.Refused != "":
		return v1alpha1.ReasonForbiddenHere, "the remote namespace has not been created yet: " + c.Refused
	default:
		return v1alpha1.ReasonPending, "the remote namespace has not been created yet"
	}
}
