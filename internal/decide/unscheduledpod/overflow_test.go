package unscheduledpod

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/decide/admission"
	"github.com/spillway-io/spillway/internal/decide/spill"
	"github.com/spillway-io/spillway/internal/testing/builder"
)

// TestOverflow decides about a pod as the controller does: first which tiers it may use, then what it gets.
func TestOverflow(t *testing.T) {
	tiers := []spill.Tier{{Local: true}, {Clusters: []string{"eu", "eu2"}, After: 10 * time.Second}, {Clusters: []string{"us"}, After: time.Minute}}
	now := builder.Epoch
	reported := func(ago time.Duration, seen int64) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
				LastTransitionTime: metav1.NewTime(now.Add(-ago)), ObservedGeneration: seen}}
		}
	}
	opened := func(tier int, ago time.Duration, ids ...string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Generation++
			p.Spec.Tolerations = append(p.Spec.Tolerations, admission.Missing(p, ids)...)
			before := spill.ParseOpened(p.Annotations[v1alpha1.AnnotationOverflow])
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.AnnotationOverflow, before.With(tier, now.Add(-ago)).String())
		}
	}
	gated := func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated }
	for name, test := range map[string]struct {
		pod  []func(*corev1.Pod)
		want string // The clusterIDs that are added, the reason, the annotation, and when to decide again.
	}{
		"not tried":                 {nil, " 0s"},
		"tried just now":            {[]func(*corev1.Pod){reported(4*time.Second, 1)}, " 6s"},
		"gated":                     {[]func(*corev1.Pod){reported(time.Hour, 1), gated}, " 0s"},
		"no room for long enough":   {[]func(*corev1.Pod){reported(10*time.Second, 1)}, "eu, eu2 TierOpened 1=2026-01-02T03:04:05Z 0s"},
		"no observed generation":    {[]func(*corev1.Pod){reported(10*time.Second, 0)}, "eu, eu2 TierOpened 1=2026-01-02T03:04:05Z 0s"},
		"the next tier is open":     {[]func(*corev1.Pod){reported(40*time.Second, 2), opened(1, 30*time.Second, "eu", "eu2")}, "1=2026-01-02T03:03:35Z 30s"},
		"it has not been tried":     {[]func(*corev1.Pod){reported(80*time.Second, 1), opened(1, 70*time.Second, "eu", "eu2")}, "1=2026-01-02T03:02:55Z 5s"},
		"no room there either":      {[]func(*corev1.Pod){reported(80*time.Second, 2), opened(1, 70*time.Second, "eu", "eu2")}, "us TierOpened 1=2026-01-02T03:02:55Z,2=2026-01-02T03:04:05Z 0s"},
		"a provider is new":         {[]func(*corev1.Pod){reported(40*time.Second, 2), opened(1, 30*time.Second, "eu")}, "eu2 TierOpened 1=2026-01-02T03:04:05Z 0s"},
		"no room anywhere":          {[]func(*corev1.Pod){reported(80*time.Second, 3), opened(1, 70*time.Second, "eu", "eu2"), opened(2, 10*time.Second, "us")}, "FitsNoTier 1=2026-01-02T03:02:55Z,2=2026-01-02T03:03:55Z 0s"},
		"it tolerates all anyway":   {[]func(*corev1.Pod){reported(20*time.Second, 1), func(p *corev1.Pod) { p.Spec.Tolerations = []corev1.Toleration{{Operator: "Exists"}} }}, "FitsNoTier 0s"},
		"it can never be sent":      {[]func(*corev1.Pod){reported(20*time.Second, 1), func(p *corev1.Pod) { p.Spec.HostNetwork = true }}, "StaysLocal 0s"},
		"it is of a DaemonSet":      {[]func(*corev1.Pod){reported(20*time.Second, 1), func(p *corev1.Pod) { p.OwnerReferences[0].Kind = "DaemonSet" }}, " 0s"},
		"it has got a node":         {[]func(*corev1.Pod){reported(20*time.Second, 1), func(p *corev1.Pod) { p.Spec.NodeName = "n" }}, " 0s"},
		"it is being deleted":       {[]func(*corev1.Pod){reported(20*time.Second, 1), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} }}, " 0s"},
		"its annotation is garbage": {[]func(*corev1.Pod){reported(10*time.Second, 1), func(p *corev1.Pod) { p.Annotations = map[string]string{v1alpha1.AnnotationOverflow: "9,x"} }}, "eu, eu2 TierOpened 1=2026-01-02T03:04:05Z 0s"},
	} {
		t.Run(name, func(t *testing.T) {
			nso := builder.Offloading("team").Obj()
			nso.Spec.Overflow = make([]v1alpha1.OverflowTier, len(tiers))
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "web", Generation: 1, CreationTimestamp: metav1.NewTime(now),
				OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "1", Controller: new(bool)}}}}
			*pod.OwnerReferences[0].Controller = true
			for _, change := range test.pod {
				change(pod)
			}
			next := spill.Next(tiers, Waiting(pod), now)
			plan := Ordered(Decide(pod, nso, spill.Open(tiers, next.Tier), nil, now), pod, tiers, next, now)
			annotation := pod.Annotations[v1alpha1.AnnotationOverflow]
			if plan.Opened != "" {
				annotation = plan.Opened
			}
			if annotation == "9,x" {
				annotation = ""
			}
			got := strings.Join(strings.Fields(strings.Join([]string{clusterIDs(plan.Tolerations), plan.Reason, annotation}, " ")), " ") + " " + plan.RecheckAfter.String()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s%+v", diff, plan)
			}
			if (plan.Reason == "") != (plan.Message == "") {
				t.Errorf("reason %q, message %q", plan.Reason, plan.Message)
			}
		})
	}
}
