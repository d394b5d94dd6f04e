package pod_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/field"
)

func saysUnschedulable(message string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
			LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))})
	}
}

// hasSaid gives a pod the condition PodOffloaded, which it has had for a minute.
func hasSaid(status corev1.ConditionStatus, reason string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: v1alpha1.PodOffloaded, Status: status, Reason: reason, Message: "old",
			LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))})
	}
}

// TestUnplaced: the condition of a pod says that the scheduler of the provider finds no node for it, since when, and no
// more once it does.
func TestUnplaced(t *testing.T) {
	node := func(p *corev1.Pod) { p.Spec.NodeName = "n" }
	const said = "False Unschedulable: the scheduler of provider eu finds no node for pod team-home/web: 0/2 nodes are available"
	const big = "False TooBig: pod team-home/web is too big for each node of provider eu that it may run on: it requests too much; its scheduler says: 0/2 nodes are available"
	saysNow := func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now) }
	for name, test := range map[string]struct {
		local, remote []func(*corev1.Pod)
		want          string
		tooBig        func(*corev1.Pod) (string, bool)
	}{
		"no node is free enough":    {nil, []func(*corev1.Pod){saysUnschedulable("0/2 nodes are available")}, big + " 0s", func(*corev1.Pod) (string, bool) { return "it requests too much", false }},
		"none will be at once":      {nil, []func(*corev1.Pod){saysUnschedulable("0/2 nodes are available"), saysNow}, big + " 0s", func(*corev1.Pod) (string, bool) { return "it requests too much", true }},
		"one may be in a moment":    {nil, []func(*corev1.Pod){saysUnschedulable(""), saysNow}, "2s", func(*corev1.Pod) (string, bool) { return "it requests too much", false }},
		"it was too big":            {[]func(*corev1.Pod){hasSaid("False", v1alpha1.ReasonTooBig)}, []func(*corev1.Pod){saysUnschedulable("0/3 nodes are available")}, "False TooBig: old 1m0s", nil},
		"it has a node":             {nil, []func(*corev1.Pod){node}, "", nil},
		"it waits for a node":       {nil, []func(*corev1.Pod){saysUnschedulable("0/2 nodes are available")}, said + " 0s", nil},
		"it waited for a Secret":    {[]func(*corev1.Pod){hasSaid("False", v1alpha1.ReasonReferenceNotFound)}, []func(*corev1.Pod){saysUnschedulable("0/2 nodes are available")}, said + " 0s", nil},
		"the scheduler says more":   {[]func(*corev1.Pod){hasSaid("False", v1alpha1.ReasonUnschedulable)}, []func(*corev1.Pod){saysUnschedulable("0/3 nodes are available")}, "False Unschedulable: old 1m0s", nil},
		"it lacks room from now on": {[]func(*corev1.Pod){hasSaid("False", v1alpha1.ReasonUnschedulable)}, []func(*corev1.Pod){saysUnschedulable("0/2 nodes are available: 2 Insufficient cpu")}, said + ": 2 Insufficient cpu 1m0s", nil},
		"it has got a node there":   {[]func(*corev1.Pod){hasSaid("False", v1alpha1.ReasonUnschedulable)}, []func(*corev1.Pod){node}, "True Offloaded:  0s", nil},
		"it waits for a moment":     {nil, []func(*corev1.Pod){saysUnschedulable(""), func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now) }}, "2s", nil},
		"its clock is ahead":        {nil, []func(*corev1.Pod){saysUnschedulable("0/2 nodes are available"), func(p *corev1.Pod) { p.Status.Conditions[0].LastTransitionTime = metav1.NewTime(now.Add(time.Hour)) }}, said + " 0s", nil},
		"it has gates there":        {nil, []func(*corev1.Pod){saysUnschedulable(""), func(p *corev1.Pod) { p.Status.Conditions[0].Reason = corev1.PodReasonSchedulingGated }}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := in(local(append([]func(*corev1.Pod){started}, test.local...)...), remote(append([]func(*corev1.Pod){phase("Pending")}, test.remote...)...))
			s.TooBig = test.tooBig
			status := s.Local.Status
			plan := decide.Next(fixture.Of(s), pod.Syncer{})
			for _, a := range plan.Actions {
				status = a.Object.(*corev1.Pod).Status
			}
			got := ""
			for _, c := range status.Conditions {
				if c.Type == v1alpha1.PodOffloaded {
					got = string(c.Status) + " " + c.Reason + ": " + c.Message + " " + now.Sub(c.LastTransitionTime.Time).String()
				}
			}
			if got == "" && plan.RecheckAfter > 0 {
				got = plan.RecheckAfter.String()
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestStuckOf(t *testing.T) {
	for name, test := range map[string]struct {
		pod  []func(*corev1.Pod)
		want bool
	}{
		"it runs":                           {[]func(*corev1.Pod){started, phase("Running")}, false},
		"the provider refuses it":           {[]func(*corev1.Pod){hasSaid("False", v1alpha1.ReasonRejected)}, true},
		"its quota has no room":             {[]func(*corev1.Pod){hasSaid("False", v1alpha1.ReasonQuotaExceeded)}, true},
		"the provider fails":                {[]func(*corev1.Pod){hasSaid("False", v1alpha1.ReasonServerError)}, true},
		"it waits for a Secret":             {[]func(*corev1.Pod){hasSaid("False", v1alpha1.ReasonReferenceNotFound)}, false},
		"the provider is away":              {[]func(*corev1.Pod){hasSaid("False", v1alpha1.ReasonProviderAway)}, false},
		"it has no node there":              {[]func(*corev1.Pod){started, hasSaid("False", v1alpha1.ReasonUnschedulable)}, true},
		"it is too big there":               {[]func(*corev1.Pod){started, hasSaid("False", v1alpha1.ReasonTooBig)}, true},
		"it is there, and a change refused": {[]func(*corev1.Pod){started, hasSaid("False", v1alpha1.ReasonRejected)}, false},
		"it was refused":                    {[]func(*corev1.Pod){hasSaid("True", v1alpha1.ReasonOffloaded)}, false},
		"it is being deleted":               {[]func(*corev1.Pod){hasSaid("False", v1alpha1.ReasonRejected), func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now} }}, false},
		"it has ended":                      {[]func(*corev1.Pod){hasSaid("False", v1alpha1.ReasonRejected), phase("Failed")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := pod.StuckOf(local(test.pod...))
			if (got != nil) != test.want || got != nil && now.Sub(got.Since) != time.Minute {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// TestStuckSince: a pod that is refused for lack of room, after it was refused for another reason, counts from then on.
func TestStuckSince(t *testing.T) {
	for name, test := range map[string]struct {
		was, reason, message string
		want                 time.Duration
	}{
		"a webhook, then the quota":      {v1alpha1.ReasonRejected, v1alpha1.ReasonRejected, "exceeded quota: few", 0},
		"a webhook, then Spillway's":     {v1alpha1.ReasonRejected, v1alpha1.ReasonQuotaExceeded, "few", 0},
		"a failure, then the quota":      {v1alpha1.ReasonServerError, v1alpha1.ReasonRejected, "exceeded quota: few", 0},
		"a Secret, then a webhook":       {v1alpha1.ReasonReferenceNotFound, v1alpha1.ReasonRejected, "denied", 0},
		"one quota, then another":        {v1alpha1.ReasonQuotaExceeded, v1alpha1.ReasonRejected, "exceeded quota: few", time.Minute},
		"the quota, then a webhook":      {v1alpha1.ReasonQuotaExceeded, v1alpha1.ReasonRejected, "denied", time.Minute},
		"a webhook, then another":        {v1alpha1.ReasonRejected, v1alpha1.ReasonRejected, "denied", time.Minute},
		"a webhook, then it waits again": {v1alpha1.ReasonRejected, v1alpha1.ReasonReferenceNotFound, "no Secret", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			status := pod.ProviderAwayStatus(local(hasSaid("False", test.was)), field.Problem{Reason: test.reason, Message: test.message}, now)
			if got := now.Sub(status.Conditions[0].LastTransitionTime.Time); got != test.want {
				t.Errorf("it counts for %s, want %s", got, test.want)
			}
		})
	}
}

// TestQuotaIsSaidOnce: while a pod waits for its quota, its condition keeps the numbers. It is about lack of room.
func TestQuotaIsSaidOnce(t *testing.T) {
	const before, other = "quota a of ClusterBinding eu: the pod requests 2 cpu, and 9 of 10 are used", "quota a of ClusterBinding eu: the pod requests 2 cpu, and 10 of 10 are used"
	waits := func(message string) decide.Plan {
		s := in(local(hasSaid("False", v1alpha1.ReasonQuotaExceeded), func(p *corev1.Pod) { p.Status.Conditions[0].Message = before }), nil)
		s.Waiting, s.WaitingFor = time.Hour, v1alpha1.ReasonQuotaExceeded
		return pod.Syncer{}.Wait(s, field.Problem{Reason: v1alpha1.ReasonQuotaExceeded, Message: message})
	}
	if plan := waits(other); len(plan.Actions) > 0 || plan.RetryAfter > 0 {
		t.Errorf("other numbers: %+v", plan)
	}
	if plan := waits("quota b" + other[7:]); len(plan.Actions) != 1 {
		t.Errorf("another quota: %+v", plan)
	}
	stuck := pod.StuckOf(local(hasSaid("False", v1alpha1.ReasonQuotaExceeded)))
	if stuck == nil || !stuck.LacksRoom() {
		t.Errorf("got %+v", stuck)
	}
}
