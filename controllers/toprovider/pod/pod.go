// Package pod runs the pods of a virtual node in its provider. It decides, without any I/O, when to create a
// pod there, which changes to send, which status to report back, and when to delete it.
//
//	local     remote              what is done
//	live      absent              what it needs first, then it is created
//	live      absent, was there   Failed, RemotePodLost, once the provider itself says so
//	live      there               allowed changes down, status up
//	live      being deleted       deleted in the consumer, if it has a controller; else status up
//	terminal  absent              if it is lost and has a controller: deleted in the consumer
//	terminal  any                 nothing: a terminal phase is final
//	deleting  there               deleted there with the same grace; the status still comes up
//	deleting  absent              Failed, if it has not ended, and deleted in the consumer, with no
//	                              grace left; once more if it stays
//	absent    there               deleted there
//
// decide.go has these decisions. Package accept decides whether a pod is sent, ToRemote builds the remote pod, and
// Update finds later changes. Package status turns the remote status into the local one.
package pod

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/needs"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/token"
	"github.com/spillway-io/spillway/internal/engine/decide"
	"github.com/spillway-io/spillway/internal/engine/kind"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/metrics"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// workers is how many pods of one provider are handled at a time. A reconcile spends
// nearly all its time waiting for API servers.
const workers = 16

// Kind is the kind of pods.
func Kind() kind.Kind[*corev1.Pod] {
	return kind.Kind[*corev1.Pod]{
		Name:       "pod",
		Selection:  kind.OnVirtualNode,
		Scope:      kind.ScopeNamespaced,
		New:        func() *corev1.Pod { return &corev1.Pod{} },
		NewList:    func() decide.List { return &corev1.PodList{} },
		Syncer:     Syncer{},
		RemoteName: kind.Namespaced{}.RemoteName,
		Needs:      Needs,
		Accepts:    accepts,
		Tokens:     usesTokens,
		Workers:    workers,
		Urgent:     awaited,
		Ended:      EndedByProvider,
		Done:       measure,
	}
}

// awaited reports whether users wait for a change of the remote pod: it has become
// Ready or unready, has started or ended, is being deleted, or is gone. In a burst, such changes do not
// wait behind pods that are yet to be sent.
func awaited(before, after *corev1.Pod) bool {
	return after == nil || before.Status.Phase != after.Status.Phase || field.IsReady(before) != field.IsReady(after) ||
		before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
}

// Needs are the objects that a pod needs in the provider. One that has ended, or
// is not sent at all, needs none.
func Needs(pod *corev1.Pod) []decide.Ref {
	if terminal(pod) || accept.NeverSent(pod) != nil {
		return nil
	}
	var refs []decide.Ref
	add := func(kind string, references []needs.Reference) {
		for _, r := range references {
			key := decide.Key{Kind: kind, NamespacedName: types.NamespacedName{Namespace: pod.Namespace, Name: r.Name}}
			refs = append(refs, decide.Ref{Key: key, Optional: r.Optional})
		}
	}
	references := needs.Of(pod)
	add("configmap", references.ConfigMaps)
	add("secret", references.Secrets)
	add("persistentvolumeclaim", references.PersistentVolumeClaims)
	return refs
}

// refusalOf says why a pod is not sent to a provider, or returns nil.
func refusalOf(pod *corev1.Pod, around decide.Inputs) *field.Problem {
	return accept.Refusal(pod, accept.Provider{
		Limits: around.Limits, Classes: around.Classes, Has: around.Has, Accounts: around.Accounts, TargetFor: around.TargetFor, API: around.API,
	})
}

// accepts reports whether a pod is sent to a provider. That is not known before the provider has answered
// whether it has the classes of the pod.
func accepts(pod *corev1.Pod, around decide.Inputs) (accepted, known bool) {
	refusal := refusalOf(pod, around)
	return refusal == nil, refusal == nil || refusal.Reason != v1alpha1.ReasonReferenceNotSynced
}

// usesTokens reports whether a pod that is not in the provider needs its API tokens there.
func usesTokens(pod *corev1.Pod, around decide.Inputs) bool {
	return recorded(pod) == nil && !terminal(pod) && pod.DeletionTimestamp.IsZero() && token.Granted(pod, around.API) != nil
}

// measure records how long creation and status took.
func measure(s decide.ObjectState[*corev1.Pod], a decide.Action, seen time.Time) {
	switch {
	case a.Verb == decide.Create && a.Side == decide.Remote:
		for _, condition := range s.Local.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionTrue {
				metrics.PodCreated.WithLabelValues(s.ClusterID).Observe(s.Now.Sub(condition.LastTransitionTime.Time).Seconds())
			}
		}
	case a.Verb == decide.PatchStatus && !seen.IsZero():
		metrics.PodStatus.WithLabelValues(s.ClusterID).Observe(time.Since(seen).Seconds())
	}
}
