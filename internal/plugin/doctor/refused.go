package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/field/text"
	"github.com/spillway-io/spillway/internal/plugin/status"
)

// refusedFor is how long a pod must have waited before its refusal is a finding. Quotas are often full for a moment. The
// condition says since when the pod waits, and not since when for the same reason.
const refusedFor = 5 * time.Minute

// turnsAway are the reasons of pods that a provider, or the binding's quota, does not let in.
var turnsAway = []string{v1alpha1.ReasonRejected, v1alpha1.ReasonServerError, v1alpha1.ReasonQuotaExceeded}

// refused looks for pods that wait because their provider does not let them in. Waiting for room is no finding.
func (e *exam) refused() {
	if slices.Contains(e.seen.Hidden, status.Pods) {
		e.found(Finding{Level: Warning, Check: "refused", Message: "whether providers refuse pods is unknown: you may not read " + status.Pods, Mend: "run doctor as a cluster administrator"})
		return
	}
	all := turnedAway(e.seen.Pods, time.Now())
	for i := range all {
		e.found(all[i].finding())
	}
	if len(all) == 0 {
		e.found(Finding{Level: OK, Check: "refused", Message: fmt.Sprintf("no pod that has waited for more than %d minutes is refused by its provider", int(refusedFor.Minutes()))})
	}
}

// refusal is what a provider says about pods of a namespace.
type refusal struct {
	namespace, cluster, reason string
	// message is about the first of the pods.
	message string
	pods    []types.NamespacedName
}

// turnedAway returns the refusals of pods that have waited for long, by namespace, provider and reason.
func turnedAway(pods []corev1.Pod, now time.Time) []refusal {
	var all []refusal
	for i := range pods {
		pod := &pods[i]
		at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == v1alpha1.PodOffloaded && c.Status == corev1.ConditionFalse && slices.Contains(turnsAway, c.Reason)
		})
		if at < 0 || !pod.DeletionTimestamp.IsZero() || now.Sub(pod.Status.Conditions[at].LastTransitionTime.Time) < refusedFor {
			continue
		}
		said := pod.Status.Conditions[at]
		one := refusal{namespace: pod.Namespace, cluster: v1alpha1.ClusterIDOf(pod.Spec.NodeName), reason: said.Reason, message: text.Clean(said.Message)}
		known := slices.IndexFunc(all, func(r refusal) bool {
			return r.namespace == one.namespace && r.cluster == one.cluster && r.reason == one.reason
		})
		if known < 0 {
			known = len(all)
			all = append(all, one)
		}
		all[known].pods = append(all[known].pods, client.ObjectKeyFromObject(pod))
	}
	slices.SortFunc(all, func(a, b refusal) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.cluster, b.cluster), cmp.Compare(a.reason, b.reason))
	})
	return all
}

func (r refusal) finding() Finding {
	f := Finding{
		Level: Warning, Check: "refused", Object: r.namespace + " in " + r.cluster,
		Message: fmt.Sprintf("these pods have waited for more than %d minutes: %s; the reason now: %s: %s", int(refusedFor.Minutes()), eviction.Summarise(r.pods, nil), r.reason, r.message),
		Mend: "let the provider's administrator change the quota or policy that the message names, or scale down; " +
			"so that such pods go elsewhere: docs/spill.md, when a provider has no room after all",
	}
	switch r.reason {
	case v1alpha1.ReasonServerError:
		f.Mend = "let the provider's administrator repair what the message names: docs/troubleshooting.md, a webhook of a provider that does not answer"
	case v1alpha1.ReasonQuotaExceeded:
		f.Mend = "raise spec.quota of the ClusterBinding of " + r.cluster + ", or scale down; so that such pods go elsewhere: docs/spill.md, when a provider has no room after all"
	}
	return f
}
