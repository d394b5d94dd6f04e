package status

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

// statusAfter returns the status of a pod with one container, for the given local and remote statuses.
func statusAfter(t *testing.T, local, remote string) corev1.PodStatus {
	t.Helper()
	l := fieldtest.PodOf(t, `{spec: {restartPolicy: Never, containers: [{name: web}]}}`)
	l.Status = *fieldtest.Parse[corev1.PodStatus](t, local)
	return Of(l, &corev1.Pod{Status: *fieldtest.Parse[corev1.PodStatus](t, remote)}, routed, fieldtest.Present, 0)
}

func TestPodStatus(t *testing.T) {
	tests := map[string]struct{ local, remote, want string }{
		"nothing yet":                    {`{}`, `{}`, `{phase: Pending, conditions: []}`},
		"running":                        {`{phase: Pending}`, `{phase: Running}`, `{phase: Running, conditions: []}`},
		"ended":                          {`{phase: Running}`, `{phase: Failed, reason: Evicted, message: disk full}`, `{phase: Failed, reason: Evicted, message: disk full, conditions: []}`},
		"never back to Pending":          {`{phase: Running}`, `{phase: Pending}`, `{phase: Running, conditions: []}`},
		"unknown":                        {`{phase: Running}`, `{phase: Unknown}`, `{phase: Running, conditions: []}`},
		"a phase that is none":           {`{phase: Pending}`, `{phase: Sleeping}`, `{phase: Pending, conditions: []}`},
		"Succeeded is final":             {`{phase: Succeeded, message: done}`, `{phase: Running, message: no}`, `{phase: Succeeded, message: done}`},
		"Failed is final":                {`{phase: Failed}`, `{phase: Succeeded, podIP: 10.0.0.1}`, `{phase: Failed}`},
		"ended, as only we say":          {`{phase: Running}`, `{phase: Succeeded, reason: RemotePodLost}`, `{phase: Succeeded, conditions: []}`},
		"deleted, as only we say":        {`{phase: Running}`, `{phase: Failed, reason: PodDeleted}`, `{phase: Failed, conditions: []}`},
		"a message that is over is gone": {`{phase: Running, message: old, reason: Old}`, `{phase: Running}`, `{phase: Running, conditions: []}`},
		"local fields":                   {`{qosClass: Burstable, nominatedNodeName: n, observedGeneration: 3, resize: Proposed}`, `{phase: Running, qosClass: Guaranteed, nominatedNodeName: x, observedGeneration: 9, resize: Infeasible}`, `{phase: Running, qosClass: Burstable, nominatedNodeName: n, observedGeneration: 3, resize: Proposed, conditions: []}`},
		"start":                          {`{}`, `{startTime: "2026-01-02T03:04:05Z"}`, `{phase: Pending, startTime: "2026-01-02T03:04:05Z", conditions: []}`},
		"start is not forgotten":         {`{startTime: "2026-01-02T03:04:05Z"}`, `{}`, `{phase: Pending, startTime: "2026-01-02T03:04:05Z", conditions: []}`},
		"IPs":                            {`{}`, `{podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}]}`, `{phase: Pending, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}], conditions: []}`},
		"those of nodes never":           {`{hostIP: 10.0.0.9, hostIPs: [{ip: 10.0.0.9}]}`, `{hostIP: 10.0.0.1, hostIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}]}`, `{phase: Pending, conditions: []}`},
		"one IP without a list":          {`{}`, `{podIP: 10.0.0.1}`, `{phase: Pending, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}], conditions: []}`},
		"a list without the first":       {`{}`, `{podIPs: [{ip: 10.0.0.1}]}`, `{phase: Pending, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}], conditions: []}`},
		"too many of one family":         {`{}`, `{podIPs: [{ip: 10.0.0.1}, {ip: 10.0.0.2}, {ip: "fd00::1"}, {ip: "fd00::2"}]}`, `{phase: Pending, podIP: 10.0.0.1, podIPs: [{ip: 10.0.0.1}, {ip: "fd00::1"}], conditions: []}`},
		"IPs of one family each, the second first": {`{}`, `{podIP: "fd00::1", podIPs: [{ip: "fd00::1"}, {ip: "fd00::2"}, {ip: 10.0.0.1}, {ip: 10.0.0.2}]}`, `{phase: Pending, podIP: "fd00::1", podIPs: [{ip: "fd00::1"}, {ip: 10.0.0.1}], conditions: []}`},
		"IPs that are none":                        {`{podIP: 10.0.0.1}`, `{podIP: localhost, podIPs: [{ip: 010.0.0.1}, {ip: "fe80::1%eth0"}, {ip: "::ffff:10.0.0.1"}, {ip: ""}]}`, `{phase: Pending, conditions: []}`},
		"IPs are written in one way":               {`{}`, `{podIP: "FD00:0::1"}`, `{phase: Pending, podIP: "fd00::1", podIPs: [{ip: "fd00::1"}], conditions: []}`},
		"resources of a pod without them":          {`{}`, `{resources: {requests: {cpu: 1}}, allocatedResources: {cpu: 1}}`, `{phase: Pending, conditions: []}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(*fieldtest.Parse[corev1.PodStatus](t, test.want), statusAfter(t, test.local, test.remote)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Fields of the status that come from the provider. All others are local, except the addresses of
// nodes, which are never shown.
var (
	remoteStatus = []string{"Phase", "Conditions", "Message", "Reason", "PodIP", "PodIPs", "StartTime",
		"InitContainerStatuses", "ContainerStatuses", "EphemeralContainerStatuses", "AllocatedResources", "Resources"}
	localStatus = []string{"HostIP", "HostIPs", "ObservedGeneration", "NominatedNodeName", "QOSClass", "Resize", "ResourceClaimStatuses",
		"ExtendedResourceClaimStatus", "NodeAllocatableResourceClaimStatuses"}
	remoteContainerStatus = []string{"Name", "State", "LastTerminationState", "Ready", "RestartCount", "Image", "ImageID", "ContainerID",
		"Started", "AllocatedResources", "Resources"}
	droppedContainerStatus = []string{"VolumeMounts", "User", "AllocatedResourcesStatus", "StopSignal"}
)

func TestStatusFields(t *testing.T) {
	local := fieldtest.PodOf(t, `
spec: {resources: {requests: {x: 1}}, initContainers: [{name: x, resources: {limits: {x: 1}}}],
  containers: [{name: x, resources: {limits: {x: 1}}}], ephemeralContainers: [{name: x, resources: {limits: {x: 1}}}]}`)
	remote := local.DeepCopy()
	fieldtest.Plain.Fill(reflect.ValueOf(&remote.Status).Elem())
	remote.Status.Phase, remote.Status.PodIP, remote.Status.HostIP = corev1.PodRunning, "10.0.0.1", "10.0.0.2"
	remote.Status.Conditions[0] = corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue}
	got := Of(local, remote, routed, fieldtest.Present, 0)
	checkFields(t, got, remoteStatus, localStatus)
	for _, list := range [][]corev1.ContainerStatus{got.InitContainerStatuses, got.ContainerStatuses, got.EphemeralContainerStatuses} {
		if len(list) != 1 {
			t.Fatalf("got %d statuses", len(list))
		}
		checkFields(t, list[0], remoteContainerStatus, droppedContainerStatus)
	}
}

// checkFields checks that exactly the fields in set are set, and that set and unset name all fields.
func checkFields(t *testing.T, status any, set, unset []string) {
	t.Helper()
	v := reflect.ValueOf(status)
	if want := len(set) + len(unset); v.NumField() != want {
		t.Errorf("%s has %d fields, and %d are decided about", v.Type(), v.NumField(), want)
	}
	for _, name := range set {
		if v.FieldByName(name).IsZero() {
			t.Errorf("%s.%s did not come through", v.Type(), name)
		}
	}
	for _, name := range unset {
		if !v.FieldByName(name).IsZero() {
			t.Errorf("%s.%s came through: %v", v.Type(), name, v.FieldByName(name))
		}
	}
}

func TestBounded(t *testing.T) {
	tests := map[string]struct {
		text  string
		limit int
		want  string
	}{
		"short":                 {"abc", 4, "abc"},
		"as long as allowed":    {"abcd", 4, "abcd"},
		"too long":              {"abcde", 4, "abc…"},
		"characters, not bytes": {"äöüß", 4, "äöüß"},
		"too many of them":      {"äöüßx", 4, "äöü…"},
		"lines":                 {"a\nb\r\n", 9, "a b  "},
		"escape sequences":      {"\x1b[31mred", 99, " [31mred"},
		"turned round":          {"a\u202eb", 9, "a b"},
		"not UTF-8":             {"a\xffb", 9, "a\ufffdb"},
		"long, and not UTF-8":   {strings.Repeat("\xff", 1000), 4, "\ufffd\ufffd\ufffd…"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, field.Bounded(test.text, test.limit)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSaneTime(t *testing.T) {
	zone := time.FixedZone("", -23*60*60)
	tests := map[string]struct {
		in   time.Time
		sane bool
	}{
		"now":                         {time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), true},
		"none":                        {time.Time{}, true},
		"the first year":              {time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC), true},
		"before there were pods":      {time.Date(1969, 1, 1, 0, 0, 0, 0, time.UTC), false},
		"the last year":               {time.Date(9999, 12, 31, 23, 0, 0, 0, time.UTC), true},
		"five digits in UTC":          {time.Date(9999, 12, 31, 23, 0, 0, 0, zone), false},
		"no year that can be written": {time.Unix(1<<40, 0), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := field.SaneTime(metav1.NewTime(test.in))
			if test.sane != got.Time.Equal(test.in) || !test.sane && !got.IsZero() {
				t.Errorf("got %v", got)
			}
			if start := startTime(nil, &metav1.Time{Time: test.in}, metav1.NewTime(fieldtest.Present)); (test.sane && !test.in.IsZero()) != (start != nil) {
				t.Errorf("got start %v", start)
			}
		})
	}
}

// TestTimesOfOneAhead: a provider whose clock is a minute ahead delays nothing in the consumer. While
// only time passes, nothing is written again, until long after the consumer's clock has caught up.
func TestTimesOfOneAhead(t *testing.T) {
	const now, later, past = `"2026-03-01T00:00:00Z"`, `"2026-03-01T00:01:00Z"`, `"2026-02-28T23:59:58Z"`
	status := func(at, id string) string {
		ended := `{terminated: {startedAt: ` + at + `, finishedAt: ` + at + id + `}}`
		return `{phase: Running, startTime: ` + at + `,
  conditions: [{type: Ready, status: "True", lastProbeTime: ` + at + `, lastTransitionTime: ` + at + `}],
  containerStatuses: [{name: web, restartCount: 2, state: {running: {startedAt: ` + at + `}}` + id + `, lastState: ` + ended + `}, {name: log, state: ` + ended + `}]}`
	}
	running := `{phase: Running, containerStatuses: [{name: web, containerID: x, state: {running: {startedAt: ` + past + `}}}]}`
	for name, test := range map[string]struct{ local, remote, want string }{
		"in the future":                      {`{}`, status(later, `, containerID: x`), status(now, `, containerID: x`)},
		"in the future, without IDs":         {`{}`, status(later, ``), status(now, ``)},
		"known before":                       {status(past, `, containerID: x`), status(later, `, containerID: x`), status(past, `, containerID: x`)},
		"earlier than was said":              {status(now, ``), status(past, ``), status(past, ``)},
		"written by a clock that was ahead":  {status(later, ``), status(later, ``), status(now, ``)},
		"of another status":                  {`{conditions: [{type: Ready, status: "False", lastTransitionTime: ` + past + `}]}`, `{phase: Running, conditions: [{type: Ready, status: "True", lastTransitionTime: ` + later + `}]}`, `{phase: Running, conditions: [{type: Ready, status: "True", lastTransitionTime: ` + now + `}]}`},
		"of another container":               {running, `{containerStatuses: [{name: web, containerID: y, state: {running: {startedAt: ` + later + `}}}]}`, `{phase: Running, containerStatuses: [{name: web, containerID: y, state: {running: {startedAt: ` + now + `}}}], conditions: []}`},
		"restarted, without IDs":             {strings.ReplaceAll(running, "containerID: x, ", ""), `{containerStatuses: [{name: web, restartCount: 1, state: {running: {startedAt: ` + later + `}}}]}`, `{phase: Running, containerStatuses: [{name: web, restartCount: 1, state: {running: {startedAt: ` + now + `}}}], conditions: []}`},
		"of the container that has ended":    {running, `{containerStatuses: [{name: web, state: {terminated: {containerID: x, startedAt: ` + later + `, finishedAt: ` + later + `}}}]}`, `{phase: Running, containerStatuses: [{name: web, state: {terminated: {containerID: x, startedAt: ` + past + `, finishedAt: ` + now + `}}}], conditions: []}`},
		"of the container that ended before": {running, `{containerStatuses: [{name: web, restartCount: 1, lastState: {terminated: {containerID: x, startedAt: ` + later + `}}}]}`, `{phase: Running, containerStatuses: [{name: web, restartCount: 1, lastState: {terminated: {containerID: x, startedAt: ` + past + `}}}], conditions: []}`},
		"two runs with one ID": {`{}`, `{containerStatuses: [{name: web, containerID: x, state: {running: {startedAt: ` + later + `}}, lastState: {terminated: {containerID: x, finishedAt: ` + later + `}}}]}`,
			`{phase: Pending, containerStatuses: [{name: web, containerID: x, state: {running: {startedAt: ` + now + `}}, lastState: {terminated: {containerID: x, finishedAt: ` + now + `}}}], conditions: []}`},
	} {
		local, remote := fieldtest.PodOf(t, `{spec: {containers: [{name: web}, {name: log}]}}`), &corev1.Pod{Status: *fieldtest.Parse[corev1.PodStatus](t, test.remote)}
		local.Status = *fieldtest.Parse[corev1.PodStatus](t, test.local)
		local.Status = Of(local, remote, routed, fieldtest.Present, time.Minute)
		if diff := cmp.Diff(*fieldtest.Parse[corev1.PodStatus](t, test.want), local.Status); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		for passed := range 240 {
			if diff := cmp.Diff(local.Status, Of(local, remote, routed, fieldtest.Present.Add(time.Duration(passed)*time.Second), time.Minute)); diff != "" {
				t.Fatalf("%s: written again after %d seconds: %s", name, passed, diff)
			}
		}
	}
}

// TestSince: a condition changed and changed back between two looks. It is as old as the provider says.
// Its time is not written again while time passes.
func TestSince(t *testing.T) {
	const now, far, before, recent, future = `"2026-03-01T00:00:00Z"`, `"2026-02-28T23:00:00Z"`, `"2026-02-28T23:54:56Z"`, `"2026-02-28T23:55:00Z"`, `"2026-03-01T00:01:00Z"`
	for name, test := range map[string]struct {
		gate               bool
		local, was, remote string
		ahead              time.Duration
		want               string
	}{
		"clocks in step":            {false, "True", far, recent, 0, recent},
		"not Ready":                 {false, "False", far, recent, 0, recent},
		"the provider's is behind":  {false, "True", far, recent, -time.Hour, recent},
		"is ahead by more":          {false, "True", far, recent, time.Hour, far},
		"is ahead by less":          {false, "True", far, recent, 54 * time.Minute, recent},
		"is ahead as far as can be": {false, "True", far, recent, 1<<63 - 1, far},
		"by no more than is unseen": {false, "True", before, recent, 0, before},
		"in the future":             {false, "True", far, future, 0, far},
		"with a gate":               {true, "True", far, recent, 0, recent},
		"not Ready, with a gate":    {true, "False", far, recent, 0, far},
		"the gate opened last":      {true, "True", recent, far, 0, recent},
		"written by a wrong clock":  {true, "True", future, recent, 0, now},
	} {
		ready := func(status, since string) string {
			return `conditions: [{type: g, status: "True"}, {type: Ready, status: "` + status + `", lastTransitionTime: ` + since + `}]`
		}
		local := fieldtest.PodOf(t, `{spec: {containers: [{name: web}], readinessGates: [{conditionType: g}]}, status: {`+ready(test.local, test.was)+`}}`)
		if !test.gate {
			local.Spec.ReadinessGates = nil
		}
		remote := &corev1.Pod{Status: *fieldtest.Parse[corev1.PodStatus](t, `{`+ready(test.local, test.remote)+`}`)}
		local.Status = Of(local, remote, routed, fieldtest.Present, test.ahead)
		want := fieldtest.Parse[corev1.PodStatus](t, `{`+ready(test.local, test.want)+`}`).Conditions
		if diff := cmp.Diff(want, local.Status.Conditions); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if diff := cmp.Diff(local.Status, Of(local, remote, routed, fieldtest.Present.Add(30*time.Second), test.ahead)); diff != "" {
			t.Errorf("%s: written again: %s", name, diff)
		}
	}
}
