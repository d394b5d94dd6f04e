package pod

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/status"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/decide/quota"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/retry"
)

// How long a problem lasts before it is reported. Nearly all waits end much sooner. Reporting them would cost
// two more writes for each pod.
const (
	// Patience is for problems that a person must solve.
	Patience = 2 * time.Second
	// longPatience is for work that Spillway itself has not done yet. There may be a lot of it.
	longPatience = 10 * time.Second
)

// Syncer decides about pods.
type Syncer struct {
	decide.FromConsumer[*corev1.Pod]
}

type snapshot = decide.Snapshot[*corev1.Pod]

// SyncToRemote decides about a pod that is not in the provider.
func (Syncer) SyncToRemote(s snapshot) decide.Plan {
	switch {
	case !s.Local.DeletionTimestamp.IsZero():
		return finishDeletion(s)
	case terminal(s.Local):
		return cleanUpEnded(s)
	}
	if was := recorded(s.Local); was != nil {
		return handleLost(s, was)
	}
	if refusal := refusalOf(s.Local, s.Inputs); refusal != nil {
		return report(s, *refusal, refusalPatience(refusal.Reason))
	}
	if !s.Destination.Open {
		return report(s, s.Destination.Problem, patience(s.Destination.Problem))
	}
	if s.Refused != nil && s.Refused.Wait > 0 {
		plan := report(s, s.Refused.Problem, 0)
		plan.RetryAfter = s.Refused.Wait
		return plan
	}
	if need := s.Unready(); need != nil {
		return report(s, need.Problem, patience(need.Problem))
	}
	group, known := groupOf(s.Local, s.Inputs)
	if !known {
		plan := report(s, unknownGroup(s.Local), longPatience)
		plan.RetryAfter = retry.Sooner(plan.RetryAfter, longPatience)
		return plan
	}
	remote := ToRemote(s.Local, s.Destination.Target, s.Limits, s.Classes)
	if token.Granted(s.Local, s.API) != nil {
		remote = WithAPI(s.Local, s.Destination.Target, s.Limits, s.Classes, s.API.Endpoint)
	}
	runAs(remote, s.Local, s.Accounts, s.Limits)
	selectInGroup(&remote.Spec, &s.Local.Spec, s.Destination.Target, group)
	remote.OwnerReferences = controlledBy(s.Destination.Namespace, s.NamespaceUID)
	if s.SendBackoff > 0 {
		plan := report(s, sendBackoffProblem(s), Patience)
		plan.RetryAfter = retry.Sooner(plan.RetryAfter, s.SendBackoff)
		return plan
	}
	place(remote, s.Local, s.Destination.Target, s.Inputs)
	return decide.Plan{Actions: []decide.Action{{Verb: decide.Create, Side: decide.Remote, Object: remote}}}
}

// Wait reports what a pod waits for, unless the pod has ended or is being deleted.
func (Syncer) Wait(s snapshot, problem field.Problem) decide.Plan {
	if terminal(s.Local) || !s.Local.DeletionTimestamp.IsZero() {
		return decide.Plan{Problem: &problem}
	}
	return report(s, withoutNews(s.Local, problem), Patience)
}

// withoutNews returns the problem of a pod that waits for its quota, with the numbers that the pod already shows. Others
// use more and less meanwhile, and each number would take a write for each pod that waits.
func withoutNews(local *corev1.Pod, problem field.Problem) field.Problem {
	was := conditionOf(local, v1alpha1.PodOffloaded)
	if was != nil && was.Reason == v1alpha1.ReasonQuotaExceeded && problem.Reason == was.Reason && quota.Unchanged(was.Message, problem.Message) {
		problem.Message = was.Message
	}
	return problem
}

func patience(problem field.Problem) time.Duration {
	switch problem.Reason {
	case v1alpha1.ReasonReferenceNotSynced, v1alpha1.ReasonNamespaceNotReady:
		return longPatience
	}
	return Patience
}

// refusalPatience returns the patience for a pod that is refused for that reason. Most refusals last until
// somebody changes something, so they are reported at once. Limits and classes that are unknown or missing now
// may be there in a moment.
func refusalPatience(reason string) time.Duration {
	switch reason {
	case v1alpha1.ReasonReferenceNotSynced:
		return longPatience
	case v1alpha1.ReasonConsumerAPIMissing, v1alpha1.ReasonConsumerAPIInvalid, v1alpha1.ReasonClassMissing, v1alpha1.ReasonLimitsMissing, v1alpha1.ReasonLimitsInvalid, v1alpha1.ReasonLimitsForbidden:
		return Patience
	}
	return 0
}

// terminatingReason is the reason while the API server removes a pod without grace left.
const terminatingReason = "Going"

// finishDeletion removes a pod that is being deleted and not in the provider. As a kubelet does, it first gives the
// pod a final phase. Otherwise a controller that holds the pod by a finalizer, such as a Job's, might wait
// for that phase forever.
//
// The API server removes a pod without grace left as soon as it has no finalizers. But it does so in two
// steps (see BeforeDelete in k8s.io/apiserver/pkg/registry/rest). A request that breaks off between them
// leaves the pod behind, forever. So after a while finishDeletion deletes the pod again, as a kubelet does for the
// pods of its node.
//
// If the provider did not answer the creation, the remote pod may exist. The next pod of that name would
// have the same identity in the provider. So finishDeletion first asks the provider, once.
func finishDeletion(s snapshot) decide.Plan {
	if s.Unanswered && s.Destination.Namespace != "" {
		if s.Refused != nil && s.Refused.Verb == decide.Create && s.Refused.Wait > 0 { // Spillway may not look.
			return decide.Plan{Problem: &s.Refused.Problem, RetryAfter: s.Refused.Wait}
		}
		remote := ToRemote(s.Local, s.Destination.Target, s.Limits, s.Classes)
		return decide.Plan{Actions: []decide.Action{{Verb: decide.Find, Side: decide.Remote, Object: remote}}}
	}
	var plan decide.Plan
	if !terminal(s.Local) && (s.Refused == nil || s.Refused.Verb != decide.PatchStatus || s.Refused.Wait == 0) {
		failed := fail(s, unfinished(s))
		failed.AllowsSuccessor = true
		plan.Actions = append(plan.Actions, failed)
	}
	grace := s.Local.DeletionGracePeriodSeconds
	if grace != nil && *grace == 0 {
		if len(s.Local.Finalizers) > 0 {
			return plan
		}
		if s.WaitingFor != terminatingReason || s.Waiting < Patience {
			return decide.Plan{Problem: &field.Problem{Reason: terminatingReason, Message: "the API server is removing it"}, RetryAfter: Patience}
		}
	}
	plan.Actions = append(plan.Actions, decide.Action{Verb: decide.Delete, Side: decide.Local, Object: s.Local, AllowsSuccessor: true, Grace: ptr.To[int64](0)})
	return plan
}

// unfinished returns why a pod that is being deleted has Failed although nobody knows how it ended.
func unfinished(s snapshot) field.Problem {
	if recorded(s.Local) == nil {
		return field.Problemf(v1alpha1.ReasonPodDeleted, "the pod was deleted before provider %s reported anything about it", s.ClusterID)
	}
	return field.Problemf(v1alpha1.ReasonPodDeleted, "the pod was deleted, and is gone from provider %s, which did not report how it ended", s.ClusterID)
}

// Sync decides about a pod that both clusters have.
func (Syncer) Sync(s snapshot) decide.Plan {
	switch {
	case !s.Local.DeletionTimestamp.IsZero():
		return deleteRemote(s)
	case terminal(s.Local):
		return syncStatus(s, nil, false)
	case !s.Remote.DeletionTimestamp.IsZero():
		return followRemoteDeletion(s)
	case !s.Destination.Open:
		return syncStatus(s, nil, false) // Nothing is changed before its namespace is ready.
	}
	return syncSpec(s)
}

// deleteRemote deletes the remote pod of a local pod that is being deleted. If the provider refuses, the local
// pod's status says so, and the deletion is retried, as a creation is.
func deleteRemote(s snapshot) decide.Plan {
	problem, again := overdue(s)
	if s.Refused != nil && s.Refused.Verb == decide.Delete {
		problem = &s.Refused.Problem
	}
	plan := syncStatus(s, problem, terminal(s.Remote)) // Only the pod's end sets the observed generation.
	plan.RecheckAfter = again
	deletion := decide.Action{Verb: decide.Delete, Side: decide.Remote, Object: s.Remote, Grace: s.Local.DeletionGracePeriodSeconds}
	switch waits := s.Refused != nil && s.Refused.Wait > 0; {
	case !shorter(s.Local, s.Remote):
	case waits && s.Refused.Verb == decide.Delete:
		plan.RetryAfter = s.Refused.Wait
	case waits && s.Refused.Verb == decide.PatchStatus: // The deletion goes first, because the status may be refused again.
		plan.Actions = slices.Insert(plan.Actions, 0, deletion)
	default:
		plan.Actions = append(plan.Actions, deletion)
	}
	return plan
}

// shorter reports whether the remote pod must be deleted, or deleted with less grace than now.
func shorter(local, remote *corev1.Pod) bool {
	if remote.DeletionTimestamp.IsZero() {
		return true
	}
	return local.DeletionGracePeriodSeconds != nil && remote.DeletionGracePeriodSeconds != nil &&
		*local.DeletionGracePeriodSeconds < *remote.DeletionGracePeriodSeconds
}

// syncSpec sends the changes that Kubernetes allows on a running pod, then reports the status. A resize or a
// debug container that the provider refuses is not retried. The change of the pod itself, which records that
// it was sent, is sent anyway. If a request fails because of a fault of the provider or for lack of budget,
// that change waits.
func syncSpec(s snapshot) decide.Plan {
	refused := s.Refused
	if refused != nil && refused.Verb != decide.Patch {
		refused = nil
	}
	passes := refused != nil && refused.IsTransient()
	if refused != nil && (refused.Subresource == "" || passes) && refused.Wait > 0 {
		plan := syncStatus(s, &refused.Problem, false)
		plan.RetryAfter = refused.Wait
		return plan
	}
	changes := Update(s.Local, s.Remote, s.Destination.Target, s.Limits)
	var plan decide.Plan
	add := func(changed *corev1.Pod, subresource string) {
		switch {
		case changed == nil:
		case refused != nil && !passes && subresource != "" && refused.Subresource == subresource:
			plan.Event = &refused.Problem
		default:
			plan.Actions = append(plan.Actions, decide.Action{
				Verb: decide.Patch, Side: decide.Remote, Object: changed, Before: s.Remote, Subresource: subresource,
			})
		}
	}
	add(changes.Resize, "resize")
	add(changes.Ephemeral, "ephemeralcontainers")
	add(changes.Main, "")
	if len(plan.Actions) > 0 {
		return plan // The next round sends the status.
	}
	return syncStatus(s, nil, true)
}

// syncStatus updates the status of the local pod from the provider's. sent reports that the remote pod has been
// asked for everything that the local pod asks for.
func syncStatus(s snapshot, problem *field.Problem, sent bool) decide.Plan {
	reported := statusOf(s)
	told := problem
	waits, wait := unplaced(s)
	if problem == nil && terminal(s.Local) {
		problem = remarked(s.Local)
	} else if problem == nil && waits != nil {
		problem = waits // The provider's own event says it, too.
	} else if remark := remarkOn(s); problem == nil && remark != nil {
		problem = &field.Problem{Reason: v1alpha1.ReasonOffloaded, Message: remark.Message}
		if !remark.Quiet && !hasMessage(s.Local, problem.Message) {
			told = &remark.Problem
		}
	}
	setOffloaded(&reported, problem, s.Local.Generation, s.Now)
	if sent && !terminal(s.Local) {
		status.SetObserved(&reported, s.Local, s.Remote)
	}
	plan := write(s, reported, told)
	plan.RecheckAfter = wait
	return plan
}

// statusOf returns the status for the local pod, from the provider's.
func statusOf(s snapshot) corev1.PodStatus {
	return status.Of(s.Local, s.Remote, s.Reach, s.Now, s.ClockSkew)
}

// write writes a status, or, if the consumer has refused the last one, why. told is the event that goes with
// the status.
func write(s snapshot, reported corev1.PodStatus, told *field.Problem) decide.Plan {
	if s.Refused != nil && s.Refused.Verb == decide.PatchStatus && s.Refused.Wait > 0 {
		reported = *s.Local.Status.DeepCopy()
		setOffloaded(&reported, &s.Refused.Problem, s.Local.Generation, s.Now)
		return decide.Plan{Actions: patchStatus(s, reported, nil), RetryAfter: s.Refused.Wait}
	}
	annotations := remoteAnnotations(s.Local, s.Remote, s.Now)
	if cost := deletionCost(s); cost != "" {
		annotations[corev1.PodDeletionCost] = cost
	}
	plan := decide.Plan{Actions: patchStatus(s, reported, annotations)}
	if len(plan.Actions) > 0 {
		plan.Event = told
	}
	return plan
}
