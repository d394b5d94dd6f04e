package status

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestContainerStatuses(t *testing.T) {
	tests := map[string]struct{ local, remote, want string }{
		"none":               {`[]`, `[]`, `[]`},
		"in our order":       {`[]`, `[{name: log}, {name: web}]`, `[{name: web}, {name: log}]`},
		"unknown names":      {`[]`, `[{name: mesh}, {name: web}, {name: ""}]`, `[{name: web}]`},
		"twice":              {`[]`, `[{name: web, restartCount: 1}, {name: web, restartCount: 2}]`, `[{name: web, restartCount: 1}]`},
		"forgotten":          {`[{name: web, restartCount: 1}]`, `[{name: log}]`, `[{name: web, restartCount: 1}, {name: log}]`},
		"negative restarts":  {`[]`, `[{name: web, restartCount: -1}]`, `[{name: web, restartCount: 0}]`},
		"waiting":            {`[]`, `[{name: web, state: {waiting: {reason: ErrImagePull, message: "no\nsuch image"}}}]`, `[{name: web, state: {waiting: {reason: ErrImagePull, message: "no\nsuch image"}}}]`},
		"running":            {`[]`, `[{name: web, ready: true, started: true, image: i, imageID: d, containerID: c, state: {running: {startedAt: "2026-01-02T03:04:05Z"}}}]`, `[{name: web, ready: true, started: true, image: i, imageID: d, containerID: c, state: {running: {startedAt: "2026-01-02T03:04:05Z"}}}]`},
		"running since ever": {`[]`, `[{name: web, state: {running: {startedAt: "9999-12-31T23:59:59-23:00"}}}]`, `[{name: web, state: {running: {}}}]`},
		"terminated": {`[]`, `[{name: web, state: {terminated: {exitCode: 1, signal: 9, reason: Error, message: m, containerID: c, startedAt: "2026-01-02T03:04:05Z", finishedAt: "9999-12-31T23:59:59-23:00"}}}]`,
			`[{name: web, state: {terminated: {exitCode: 1, signal: 9, reason: Error, message: m, containerID: c, startedAt: "2026-01-02T03:04:05Z"}}}]`},
		"terminated, and when": {`[]`, `[{name: web, state: {terminated: {startedAt: "2026-01-02T03:04:05Z", finishedAt: "2026-01-02T03:04:06Z"}}}]`,
			`[{name: web, state: {terminated: {startedAt: "2026-01-02T03:04:05Z", finishedAt: "2026-01-02T03:04:06Z"}}}]`},
		"last words, in lines": {`[]`, `[{name: web, lastState: {terminated: {reason: "Err\nor", message: "1: done\n\t2: \u001b[31mno\r\n"}}}]`,
			`[{name: web, lastState: {terminated: {reason: "Err or", message: "1: done\n\t2:  [31mno \n"}}}]`},
		"requests and limits": {`[]`, `[{name: web, resources: {requests: {cpu: 0, ephemeral-storage: 1Gi, example.org/fpga: 1}, limits: {memory: 1Gi, example.org/gpu: 2, example.org/other: 3}}}]`,
			`[{name: web, resources: {requests: {cpu: 0, ephemeral-storage: 1Gi, example.org/fpga: 1}, limits: {memory: 1Gi, example.org/gpu: 2}}}]`},
		"in two states":   {`[]`, `[{name: web, state: {waiting: {}, running: {}}}]`, `[{name: web, state: {running: {}}}]`},
		"in three states": {`[]`, `[{name: web, state: {waiting: {}, running: {}, terminated: {exitCode: 1}}}]`, `[{name: web, state: {terminated: {exitCode: 1}}}]`},
		"last state":      {`[]`, `[{name: web, lastState: {waiting: {}, running: {}, terminated: {exitCode: 1}}}]`, `[{name: web, lastState: {terminated: {exitCode: 1}}}]`},
		"resources": {`[]`, `[{name: web, allocatedResources: {cpu: 1, memory: -1, example.org/gpu: 2, example.org/other: 3}, resources: {requests: {cpu: 1}, limits: {"x": 1}, claims: [{name: c}]}}]`,
			`[{name: web, allocatedResources: {cpu: 1, example.org/gpu: 2}, resources: {requests: {cpu: 1}}}]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := containersAfter(t, `{restartPolicy: Always, containers: [{name: web, resources: {requests: {example.org/fpga: 1}, limits: {example.org/gpu: 2}}}, {name: log}]}`, test.local, test.remote)
			if diff := cmp.Diff(fieldtest.Parse[corev1.PodStatus](t, `{containerStatuses: `+test.want+`}`).ContainerStatuses, got, cmpNil); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// cmpNil treats an empty list as nil.
var cmpNil = cmp.Transformer("nil", func(s []corev1.ContainerStatus) []corev1.ContainerStatus {
	if len(s) == 0 {
		return nil
	}
	return s
})

func containersAfter(t *testing.T, spec, local, remote string) []corev1.ContainerStatus {
	t.Helper()
	l := fieldtest.PodOf(t, `{spec: `+spec+`, status: {containerStatuses: `+local+`}}`)
	r := fieldtest.Parse[corev1.Pod](t, `{status: {phase: Running, containerStatuses: `+remote+`}}`)
	return Of(l, r, routed, fieldtest.Present, 0).ContainerStatuses
}

// The API server refuses a status in which an ended container runs again, unless its restart policy
// allows that.
func TestContainersThatHaveEnded(t *testing.T) {
	tests := map[string]struct {
		pod, container string
		exitCode       string
		mayRestart     bool
	}{
		"Always":                                    {"Always", `{}`, "0", true},
		"no policy":                                 {"", `{}`, "0", true},
		"Never":                                     {"Never", `{}`, "1", false},
		"OnFailure, failed":                         {"OnFailure", `{}`, "1", true},
		"OnFailure, succeeded":                      {"OnFailure", `{}`, "0", false},
		"Never, but the container Always":           {"Never", `{restartPolicy: Always}`, "0", true},
		"Always, but the container Never":           {"Always", `{restartPolicy: Never}`, "1", false},
		"the container OnFailure, failed":           {"Never", `{restartPolicy: OnFailure}`, "1", true},
		"the container OnFailure, succeeded":        {"Always", `{restartPolicy: OnFailure}`, "0", false},
		"a rule":                                    {"Never", `{restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]}`, "42", true},
		"a rule for other codes":                    {"Never", `{restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: In, values: [42]}}]}`, "1", false},
		"a rule for all but":                        {"Never", `{restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: NotIn, values: [42]}}]}`, "1", true},
		"a rule for all but this":                   {"Never", `{restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: NotIn, values: [42]}}]}`, "42", false},
		"a rule that has all of them restart":       {"Never", `{restartPolicy: Never, restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}]}`, "1", true},
		"a rule of an action that does not exist":   {"Never", `{restartPolicy: Never, restartPolicyRules: [{action: Wait, exitCodes: {operator: In, values: [1]}}]}`, "1", false},
		"a rule for no codes":                       {"Never", `{restartPolicy: Never, restartPolicyRules: [{action: Restart}]}`, "1", false},
		"a rule of an operator that does not exist": {"Never", `{restartPolicy: Never, restartPolicyRules: [{action: Restart, exitCodes: {operator: Like, values: [1]}}]}`, "1", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			ended := `[{name: web, state: {terminated: {exitCode: ` + test.exitCode + `}}}]`
			spec := `{restartPolicy: "` + test.pod + `", containers: [` + strings.Replace(test.container, "{", "{name: web, ", 1) + `]}`
			got := containersAfter(t, spec, ended, `[{name: web, ready: true, restartCount: 1, state: {running: {}}}]`)
			if again := got[0].State.Running != nil; again != test.mayRestart {
				t.Errorf("got %+v", got[0])
			}
			other := containersAfter(t, spec, ended, `[{name: web, state: {terminated: {exitCode: 7}}}]`)
			if other[0].State.Terminated.ExitCode != 7 {
				t.Error("a container that has ended again is not followed")
			}
		})
	}
}

// A rule of an init container that restarts all containers also applies to the others.
func TestInitContainerThatHasAllRestart(t *testing.T) {
	got := containersAfter(t, `
{restartPolicy: Never, containers: [{name: web}], initContainers: [{name: init, restartPolicyRules: [{action: RestartAllContainers}]}]}`,
		`[{name: web, state: {terminated: {exitCode: 0}}}]`, `[{name: web, state: {running: {}}}]`)
	if got[0].State.Running == nil {
		t.Errorf("got %+v", got[0])
	}
}

func TestInitAndEphemeralContainerStatuses(t *testing.T) {
	local := fieldtest.PodOf(t, `
spec: {restartPolicy: Always, initContainers: [{name: init}], containers: [{name: web}], ephemeralContainers: [{name: debug}, {name: second}]}
status: {ephemeralContainerStatuses: [{name: debug, state: {terminated: {exitCode: 1}}}]}`)
	remote := fieldtest.Parse[corev1.Pod](t, `
status:
  initContainerStatuses: [{name: init, ready: true}, {name: web}, {name: debug}]
  containerStatuses: [{name: init}, {name: web}]
  ephemeralContainerStatuses: [{name: second}, {name: debug, state: {running: {}}}, {name: web}]`)
	got := Of(local, remote, routed, fieldtest.Present, 0)
	want := fieldtest.Parse[corev1.PodStatus](t, `
phase: Pending
conditions: []
initContainerStatuses: [{name: init, ready: true}]
containerStatuses: [{name: web}]
ephemeralContainerStatuses: [{name: debug, state: {terminated: {exitCode: 1}}}, {name: second}]`)
	if diff := cmp.Diff(*want, got); diff != "" {
		t.Error(diff)
	}
}

func TestHugeStatusIsBounded(t *testing.T) {
	local := fieldtest.PodOf(t, `{spec: {containers: [{name: web}]}}`)
	remote := &corev1.Pod{}
	long := strings.Repeat("ü\n", 20_000)
	plainButLong := fieldtest.Plain
	plainButLong.Text = func() string { return long }
	plainButLong.Number = func() int64 { return math.MinInt32 }
	plainButLong.Elems = 20
	fillStatus(plainButLong, remote)
	for range 10_000 {
		remote.Status.ContainerStatuses = append(remote.Status.ContainerStatuses, corev1.ContainerStatus{Name: "x"})
	}
	remote.Status.ContainerStatuses[19].Name = "web"
	checkStatus(t, local, remote, Of(local, remote, routed, fieldtest.Present, 0))
}

// TestBoundsOfContainers: strings that a provider reports about a container are shortened, but not the
// results of programs.
func TestBoundsOfContainers(t *testing.T) {
	long := strings.Repeat("x", 5000)
	cut := func(n int) string { return strings.Repeat("x", n-1) + "…" }
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: long, Message: long, ContainerID: long}}
	waits := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: long, Message: long}}
	want := corev1.ContainerStatus{
		Name: "web", Image: cut(512), ImageID: cut(512), ContainerID: cut(512),
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: cut(128), Message: cut(1024)}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: cut(128), Message: cut(4096), ContainerID: cut(512)}},
	}
	got := containerStatus(nil, &corev1.ContainerStatus{Name: "web", Image: long, ImageID: long, ContainerID: long, State: waits, LastTerminationState: ended}, &corev1.ResourceRequirements{}, metav1.NewTime(fieldtest.Present))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
