package status

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestConditions(t *testing.T) {
	const early, late = `"2026-01-02T03:04:05Z"`, `"2026-02-02T03:04:05Z"`
	tests := map[string]struct{ gates, local, remote, want string }{
		"local ones are kept, in their order": {
			local:  `[{type: PodScheduled, status: "True"}, {type: spillway.io/Offloaded, status: "False"}, {type: example.org/x, status: "True"}]`,
			remote: `[{type: PodScheduled, status: "False"}, {type: Ready, status: "True"}, {type: spillway.io/Offloaded, status: "True"}]`,
			want:   `[{type: PodScheduled, status: "True"}, {type: spillway.io/Offloaded, status: "False"}, {type: example.org/x, status: "True"}, {type: Ready, status: "True"}]`},
		"each known type comes, once": {
			remote: `[{type: DisruptionTarget, status: "True"}, {type: PodResizePending, status: "True"}, {type: PodResizeInProgress, status: "True"},
				{type: Ready, status: "True"}, {type: Ready, status: "False"}, {type: ContainersReady, status: "True"}, {type: Initialized, status: "True"},
				{type: PodReadyToStartContainers, status: "Unknown"}, {type: AllContainersRestarting, status: "True"}]`,
			want: `[{type: PodReadyToStartContainers, status: "Unknown"}, {type: Initialized, status: "True"}, {type: ContainersReady, status: "True"},
				{type: Ready, status: "True"}, {type: DisruptionTarget, status: "True"}, {type: PodResizePending, status: "True"}, {type: PodResizeInProgress, status: "True"}]`},
		"replaced in place": {
			local:  `[{type: Ready, status: "False", reason: Old, observedGeneration: 3}, {type: PodScheduled, status: "True"}, {type: Ready, status: "False"}]`,
			remote: `[{type: Ready, status: "True", lastTransitionTime: ` + early + `, observedGeneration: 9}]`,
			want:   `[{type: Ready, status: "True", lastTransitionTime: ` + early + `, observedGeneration: 3}, {type: PodScheduled, status: "True"}]`},
		"gone":                          {local: `[{type: PodResizePending, status: "True"}]`, remote: `[]`, want: `[]`},
		"disrupted by the consumer":     {local: `[{type: DisruptionTarget, status: "True", reason: EvictionByEvictionAPI}]`, remote: `[]`, want: `[{type: DisruptionTarget, status: "True", reason: EvictionByEvictionAPI}]`},
		"a status that is none":         {remote: `[{type: Ready, status: "Perhaps"}]`, want: `[]`},
		"an empty status":               {remote: `[{type: Ready, status: ""}]`, want: `[]`},
		"gate open":                     {gates: `[{conditionType: g}]`, local: `[{type: g, status: "True"}]`, remote: `[{type: Ready, status: "True"}]`, want: `[{type: g, status: "True"}, {type: Ready, status: "True"}]`},
		"gate of the provider's pod":    {gates: `[{conditionType: g}]`, local: `[]`, remote: `[{type: g, status: "True"}, {type: Ready, status: "False", reason: R}]`, want: `[{type: Ready, status: "False", reason: R}]`},
		"gate closed, not ready anyway": {gates: `[{conditionType: g}]`, local: `[{type: g, status: "False"}]`, remote: `[{type: Ready, status: "False", reason: R, message: m}]`, want: `[{type: g, status: "False"}, {type: Ready, status: "False", reason: R, message: m}]`},
		"gate without a condition": {gates: `[{conditionType: g}]`, local: `[]`, remote: `[{type: Ready, status: "True"}]`,
			want: `[{type: Ready, status: "False", reason: ReadinessGatesNotReady, message: 'corresponding condition of pod readiness gate "g" does not exist.'}]`},
		"gate closed": {gates: `[{conditionType: g}]`, local: `[{type: g, status: "False", lastTransitionTime: ` + late + `}]`, remote: `[{type: Ready, status: "True", lastTransitionTime: ` + early + `}]`,
			want: `[{type: g, status: "False", lastTransitionTime: ` + late + `}, {type: Ready, status: "False", lastTransitionTime: ` + late + `, reason: ReadinessGatesNotReady, message: 'the status of pod readiness gate "g" is not "True", but False'}]`},
		"a gate is of Ready alone": {gates: `[{conditionType: g}]`, remote: `[{type: ContainersReady, status: "True", lastTransitionTime: ` + early + `}, {type: Initialized, status: "True"}]`,
			want: `[{type: Initialized, status: "True"}, {type: ContainersReady, status: "True", lastTransitionTime: ` + early + `}]`},
		"two gates closed": {gates: `[{conditionType: g}, {conditionType: h}]`, local: `[{type: h, status: Unknown}]`, remote: `[{type: Ready, status: "True"}]`,
			want: `[{type: h, status: Unknown}, {type: Ready, status: "False", reason: ReadinessGatesNotReady, message: 'corresponding condition of pod readiness gate "g" does not exist., the status of pod readiness gate "h" is not "True", but Unknown'}]`},
		"one gate of two closed": {gates: `[{conditionType: g}, {conditionType: h}]`, local: `[{type: g, status: "False"}, {type: h, status: "True"}]`, remote: `[{type: Ready, status: "True"}]`,
			want: `[{type: g, status: "False"}, {type: h, status: "True"}, {type: Ready, status: "False", reason: ReadinessGatesNotReady, message: 'the status of pod readiness gate "g" is not "True", but False'}]`},
		"the gate opens last": {gates: `[{conditionType: g}]`,
			local:  `[{type: g, status: "True", lastTransitionTime: ` + late + `}, {type: Ready, status: "False"}]`,
			remote: `[{type: Ready, status: "True", lastTransitionTime: ` + early + `}]`,
			want:   `[{type: g, status: "True", lastTransitionTime: ` + late + `}, {type: Ready, status: "True", lastTransitionTime: ` + late + `}]`},
		"the gate opens first": {gates: `[{conditionType: g}]`,
			local:  `[{type: g, status: "True", lastTransitionTime: ` + early + `}]`,
			remote: `[{type: Ready, status: "True", lastTransitionTime: ` + late + `}]`,
			want:   `[{type: g, status: "True", lastTransitionTime: ` + early + `}, {type: Ready, status: "True", lastTransitionTime: ` + late + `}]`},
		"all of a condition": {
			remote: `[{type: Ready, status: "False", reason: R, message: m, lastProbeTime: ` + early + `, lastTransitionTime: ` + late + `}]`,
			want:   `[{type: Ready, status: "False", reason: R, message: m, lastProbeTime: ` + early + `, lastTransitionTime: ` + late + `}]`},
		"the time of Ready stays while it does": {gates: `[{conditionType: g}]`,
			local:  `[{type: g, status: "True", lastTransitionTime: ` + late + `}, {type: Ready, status: "True", lastTransitionTime: ` + early + `}]`,
			remote: `[{type: Ready, status: "True", lastTransitionTime: ` + early + `}]`,
			want:   `[{type: g, status: "True", lastTransitionTime: ` + late + `}, {type: Ready, status: "True", lastTransitionTime: ` + early + `}]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			local := fieldtest.PodOf(t, `{spec: {containers: [{name: web}]}}`)
			fieldtest.Merged(t, local, `{spec: {readinessGates: `+test.gates+`}, status: {conditions: `+test.local+`}}`)
			remote := fieldtest.Parse[corev1.Pod](t, `{status: {phase: Running, conditions: `+test.remote+`}}`)
			want := fieldtest.Parse[corev1.PodStatus](t, `{conditions: `+test.want+`}`).Conditions
			got := Of(local, remote, routed, fieldtest.Present, 0)
			if diff := cmp.Diff(want, got.Conditions); diff != "" {
				t.Error(diff)
			}
			local.Status = got
			if diff := cmp.Diff(got, Of(local, remote, routed, fieldtest.Present, 0)); diff != "" {
				t.Errorf("asked again: %s", diff)
			}
		})
	}
}

func TestObservedConditions(t *testing.T) {
	for name, test := range map[string]struct{ local, remote, want string }{
		"the provider's, and those that a kubelet repeats": {
			local:  `{observedGeneration: 1, conditions: [{type: PodScheduled, observedGeneration: 1}, {type: spillway.io/Offloaded}, {type: example.org/x, observedGeneration: 1}, {type: Ready, observedGeneration: 1}]}`,
			remote: `{observedGeneration: 4, conditions: [{type: Ready, observedGeneration: 4}, {type: PodScheduled, observedGeneration: 2}]}`,
			want:   `{observedGeneration: 3, conditions: [{type: PodScheduled, observedGeneration: 3}, {type: spillway.io/Offloaded, observedGeneration: 3}, {type: example.org/x, observedGeneration: 1}, {type: Ready, observedGeneration: 3}]}`},
		"of an older generation": {
			local:  `{observedGeneration: 2, conditions: [{type: Ready, observedGeneration: 2}, {type: PodScheduled}]}`,
			remote: `{observedGeneration: 3, conditions: [{type: Ready, observedGeneration: 3}]}`,
			want:   `{observedGeneration: 2, conditions: [{type: Ready, observedGeneration: 2}, {type: PodScheduled}]}`},
		"the consumer's own disruption": {
			local:  `{conditions: [{type: DisruptionTarget, observedGeneration: 2}]}`,
			remote: `{observedGeneration: 4}`,
			want:   `{observedGeneration: 3, conditions: [{type: DisruptionTarget, observedGeneration: 2}]}`},
		"none is named": {
			local:  `{conditions: [{type: Ready}]}`,
			remote: `{startTime: "2026-01-02T03:04:05Z", conditions: [{type: Ready}]}`,
			want:   `{observedGeneration: 3, conditions: [{type: Ready, observedGeneration: 3}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			local, remote := fieldtest.PodOf(t, `{metadata: {generation: 3}}`), fieldtest.PodOf(t, `{metadata: {generation: 4}}`)
			remote.Status = *fieldtest.Parse[corev1.PodStatus](t, test.remote)
			got := fieldtest.Parse[corev1.PodStatus](t, test.local)
			SetObserved(got, local, remote)
			if diff := cmp.Diff(fieldtest.Parse[corev1.PodStatus](t, test.want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTerminatingIsNotReady: if the provider is deleting the remote pod, the local pod is not Ready.
func TestTerminatingIsNotReady(t *testing.T) {
	const ready = `status: {conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}]}`
	const unready = `status: {conditions: [{type: Ready, status: "False", reason: Crashed}]}`
	const going = `metadata: {deletionTimestamp: "2026-01-02T00:01:00Z", deletionGracePeriodSeconds: 60}, `
	for name, test := range map[string]struct{ local, remote, want string }{
		"it is there to stay": {`{}`, `{` + ready + `}`, `{type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}`},
		"the provider deletes it": {`{}`, `{` + going + ready + `}`,
			`{type: Ready, status: "False", reason: RemotePodTerminating, message: the provider is deleting the remote pod, lastTransitionTime: "2026-01-02T00:00:00Z"}`},
		"so do we":         {`{metadata: {deletionTimestamp: "2026-01-02T00:00:00Z"}}`, `{` + going + ready + `}`, `{type: Ready, status: "True", lastTransitionTime: "2026-01-01T00:00:00Z"}`},
		"it was not ready": {`{}`, `{` + going + unready + `}`, `{type: Ready, status: "False", reason: Crashed}`},
	} {
		got := conditions(fieldtest.PodOf(t, test.local), fieldtest.PodOf(t, test.remote), metav1.NewTime(fieldtest.Present), 0)
		if diff := cmp.Diff([]corev1.PodCondition{*fieldtest.Parse[corev1.PodCondition](t, test.want)}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestConditionsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	remote := []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, Reason: long, Message: long}}
	for range 10_000 {
		remote = append(remote, corev1.PodCondition{Type: corev1.PodConditionType(long), Status: corev1.ConditionTrue})
	}
	got := conditions(fieldtest.PodOf(t, `{}`), &corev1.Pod{Status: corev1.PodStatus{Conditions: remote}}, metav1.NewTime(fieldtest.Present), 0)
	want := []corev1.PodCondition{{
		Type: corev1.PodReady, Status: corev1.ConditionFalse,
		Reason: strings.Repeat("x", 127) + "…", Message: strings.Repeat("x", 1023) + "…",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
