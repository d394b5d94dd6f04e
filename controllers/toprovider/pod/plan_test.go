package pod_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/controllers/toprovider/pod/accept"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
	"github.com/spillway-io/spillway/internal/field"
)

// written returns the patch from before to after, with only the fields that it is about.
func written(before, after *corev1.Pod, paced bool) decide.Action {
	part := func(p *corev1.Pod) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "team", Name: "web", UID: "local-1", ResourceVersion: "5", Annotations: p.Annotations,
			},
			Status: p.Status,
		}
	}
	return decide.Action{Verb: decide.PatchStatus, Side: decide.Local, Before: part(before), Object: part(after), Paced: paced}
}

// sentAs adds all annotations of a pod that is in the provider.
func sentAs(more ...string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations = map[string]string{
			"spillway.io/remote-namespace": "team-home", "spillway.io/remote-name": "web", "spillway.io/remote-uid": "remote-1",
			"spillway.io/remote-for-uid": "local-1", "spillway.io/last-sync-time": "2026-01-02T04:04:05Z",
		}
		for i := 0; i < len(more); i += 2 {
			p.Annotations[more[i]] = more[i+1]
		}
	}
}

func condition(kind corev1.PodConditionType, status corev1.ConditionStatus, reason, message string, at time.Time) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		c := corev1.PodCondition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(at)}
		if kind == "spillway.io/Offloaded" {
			c.ObservedGeneration = p.Generation
		}
		p.Status.Conditions = append(p.Status.Conditions, c)
	}
}

func generation(n int64) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Generation = n } }

// TestWholePlans compares complete plans. Plans in words leave out a lot.
func TestWholePlans(t *testing.T) {
	now := in(nil, nil).Now
	before := now.Add(-time.Minute)
	no := &field.Problem{Reason: "Rejected", Message: "no"}
	const lost = "pod team-home/web (UID remote-1) is gone from provider eu, without a deletion in the consumer"
	const held = "in provider eu, many pods of namespace team ended within a minute: Spillway sends the next ones one at a time, ever more slowly, until one runs for a minute"
	soon := &field.Problem{Reason: "EndedTooSoon", Message: held}
	const older = "the pod keeps running with an outdated dependency: ConfigMap team/settings: no"
	withheld := "the pod keeps running without these: " + accept.EphemeralContainerRefusals(local(debugger), nil)[0].Message
	both := withheld + "; " + strings.Replace(accept.EphemeralContainerRefusals(local(debugger), nil)[0].Message, "root", "second", 1)
	host := func(p *corev1.Pod) { p.Spec.HostNetwork = true }
	lacking := func(p *corev1.Pod) { p.Annotations[v1alpha1.AnnotationLeftOut] = "spec.affinity\n(no node)" }
	mayNot := accept.Refusal(local(host), accept.Provider{Limits: &field.Limits{}}).Message
	tolerated := pod.Withheld(local(tolerant), &corev1.Pod{}, nil)[0]

	for name, test := range map[string]struct {
		in   snapshot
		want decide.Plan
	}{
		"it runs": {in(local(), remote(phase("Running"))), decide.Plan{Actions: []decide.Action{
			written(local(), local(phase("Running"), sentAs()), false)}}},
		"its address comes": {in(local(started, phase("Running"), noted), remote(phase("Running"), address("10.8.0.1"))), decide.Plan{Actions: []decide.Action{
			written(local(started, phase("Running"), noted), local(phase("Running"), sentAs("spillway.io/remote-ip", "10.8.0.1"), noted), true)}}},
		"its address goes": {in(local(started, phase("Running"), told("10.8.0.1")), remote(phase("Running"))), decide.Plan{Actions: []decide.Action{
			written(local(started, phase("Running"), told("10.8.0.1")), local(phase("Running"), sentAs()), true)}}},
		"it is refused": {in(local(), nil, refusedTo(decide.Create, "Rejected", time.Minute)), decide.Plan{
			Actions: []decide.Action{written(local(), local(condition("spillway.io/Offloaded", "False", "Rejected", "no", now)), true)},
			Problem: no, Event: no, RetryAfter: time.Minute}},
		"it is refused for another reason than before": {in(local(condition("spillway.io/Offloaded", "False", "Other", "", before), generation(2)), nil, refusedTo(decide.Create, "Rejected", time.Minute)), decide.Plan{
			Actions: []decide.Action{written(local(condition("spillway.io/Offloaded", "False", "Other", "", before)),
				local(generation(2), condition("spillway.io/Offloaded", "False", "Rejected", "no", now)), true)},
			Problem: no, Event: no, RetryAfter: time.Minute}},
		"it says so, of an earlier generation": {in(local(condition("spillway.io/Offloaded", "False", "Rejected", "no", before), generation(2)), nil, refusedTo(decide.Create, "Rejected", time.Minute)), decide.Plan{
			Problem: no, RetryAfter: time.Minute}},
		"it says the same, of another reason": {in(local(condition("spillway.io/Offloaded", "False", "Other", "no", before)), nil, refusedTo(decide.Create, "Rejected", time.Minute)), decide.Plan{
			Actions: []decide.Action{written(local(condition("spillway.io/Offloaded", "False", "Other", "no", before)),
				local(condition("spillway.io/Offloaded", "False", "Rejected", "no", now)), true)},
			Problem: no, Event: no, RetryAfter: time.Minute}},
		"it may not go": {in(local(host), nil), decide.Plan{
			Actions: []decide.Action{written(local(), local(condition("spillway.io/Offloaded", "False", "PodSecurity", mayNot, now)), true)},
			Problem: &field.Problem{Reason: "PodSecurity", Message: mayNot}, Event: &field.Problem{Reason: "PodSecurity", Message: mayNot}}},
		"there are no limits": {in(local(), nil, unlimited), decide.Plan{
			Problem: &field.Problem{Reason: "LimitsMissing", Message: field.MissingLimits().Unknown.Message}, RetryAfter: 2 * time.Second}},
		"two debuggers may not go": {in(local(debugger, func(p *corev1.Pod) {
			second := *p.Spec.EphemeralContainers[0].DeepCopy()
			second.Name = "second"
			p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, second)
		}), remote()), decide.Plan{
			Actions: []decide.Action{written(local(), local(sentAs(), condition("spillway.io/Offloaded", "True", "Offloaded", both, now)), true)},
			Event:   &field.Problem{Reason: "PodSecurity", Message: both}}},
		"it runs at last": {in(local(condition("spillway.io/Offloaded", "False", "Other", "", before)), remote(phase("Running"))), decide.Plan{
			Actions: []decide.Action{written(local(condition("spillway.io/Offloaded", "False", "Other", "", before)),
				local(phase("Running"), sentAs(), condition("spillway.io/Offloaded", "True", "Offloaded", "", now)), false)}}},
		"its status is refused": {in(local(), remote(phase("Running")), refusedTo(decide.PatchStatus, "Rejected", time.Minute)), decide.Plan{
			Actions:    []decide.Action{written(local(), local(condition("spillway.io/Offloaded", "False", "Rejected", "no", now)), true)},
			RetryAfter: time.Minute}},
		"others were ended too soon":               {in(local(), nil, tooSoon), decide.Plan{Problem: soon, RetryAfter: 2 * time.Second}},
		"others are sent sooner than that is said": {in(local(), nil, func(s *snapshot) { s.SendBackoff = time.Second }), decide.Plan{Problem: soon, RetryAfter: time.Second}},
		"it is lost": {
			in(local(sentAs(), phase("Running"), condition("Ready", "False", "Some", "", before), condition("ContainersReady", "True", "", "", before), condition("PodScheduled", "True", "", "", before)), nil,
				func(s *snapshot) { s.Lost = true }),
			decide.Plan{
				Actions: []decide.Action{written(
					local(sentAs(), phase("Running"), condition("Ready", "False", "Some", "", before), condition("ContainersReady", "True", "", "", before), condition("PodScheduled", "True", "", "", before)),
					local(sentAs(), phase("Failed"), reason("RemotePodLost"), func(p *corev1.Pod) { p.Status.Message = lost },
						condition("Ready", "False", "Some", "", before), condition("ContainersReady", "False", "PodFailed", "", now), condition("PodScheduled", "True", "", "", before)), false)},
				Event: &field.Problem{Reason: "RemotePodLost", Message: lost}}},
		"it is lost after its deletion began": {
			in(local(sentAs(), phase("Running"), condition("Ready", "False", "RemotePodTerminating", "going", before)), nil, func(s *snapshot) { s.Lost = true }),
			decide.Plan{
				Actions: []decide.Action{written(
					local(sentAs(), phase("Running"), condition("Ready", "False", "RemotePodTerminating", "going", before)),
					local(sentAs(), phase("Failed"), reason("RemotePodLost"), func(p *corev1.Pod) { p.Status.Message = lost },
						condition("Ready", "False", "PodFailed", "", before)), false)},
				Event: &field.Problem{Reason: "RemotePodLost", Message: lost}}},
		"the provider is asked for it": {in(local(sentAs()), nil), decide.Plan{Actions: []decide.Action{{
			Verb: decide.Find, Side: decide.Remote, Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "team-home", Name: "web", UID: "remote-1"}}}}}},
		"what it uses is older there, and a debugger may not go": {in(local(debugger), remote(), outdated), decide.Plan{
			Actions: []decide.Action{written(local(), local(sentAs(), condition("spillway.io/Offloaded", "True", "Offloaded", older+"; "+withheld, now)), true)},
			Event:   &field.Problem{Reason: "UpdateRejected", Message: older + "; " + withheld}}},
		"a debugger may not go, nor a toleration": {in(local(debugger, tolerant), remote(initialized)), decide.Plan{
			Actions: []decide.Action{written(local(), local(sentAs(), initialized, condition("spillway.io/Offloaded", "True", "Offloaded", withheld+"; "+tolerated, now)), true)},
			Event:   &field.Problem{Reason: "PodSecurity", Message: withheld + "; " + tolerated}}},
		"a toleration is no event": {in(local(tolerant), remote(initialized)), decide.Plan{
			Actions: []decide.Action{written(local(), local(sentAs(), initialized, condition("spillway.io/Offloaded", "True", "Offloaded", "the pod keeps running without these: "+tolerated, now)), true)}}},
		"the provider cannot do what it requires": {in(local(), remote(initialized, lacking)), decide.Plan{
			Actions: []decide.Action{written(local(), local(sentAs(), initialized, condition("spillway.io/Offloaded", "True", "Offloaded", "the pod keeps running without these: spec.affinity (no node)", now)), true)}}},
		"the API server is removing it": {in(local(going(0)), nil), decide.Plan{
			Problem: &field.Problem{Reason: "Going", Message: "the API server is removing it"}, RetryAfter: 2 * time.Second}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, decide.Next(fixture.Of(test.in), pod.Syncer{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// noted adds an annotation that is not sent.
func noted(p *corev1.Pod) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, "spillway.io/note", "") }
