package status

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

const fuzzed = `
spec:
  restartPolicy: Never
  readinessGates: [{conditionType: example.org/gate}]
  resources: {limits: {cpu: 1}}
  initContainers: [{name: init}, {name: x}]
  containers: [{name: web, resources: {limits: {example.org/gpu: 1}}}]
  ephemeralContainers: [{name: debug}]
status:
  phase: Running
  qosClass: Burstable
  conditions: [{type: PodScheduled, status: "True"}, {type: example.org/gate, status: "True"}]
  initContainerStatuses: [{name: init, state: {terminated: {exitCode: 0}}}]`

// maxStatus is more than a status of a pod with four containers ever has, in bytes. The strings of a
// container have some 9,000 characters. Most printed characters take at most three bytes.
const maxStatus = 4 * 9_000 * utf8.UTFMax * 2

// FuzzPodStatus lets a provider report anything. The consumer's API server accepts the result, and a
// second call, an hour later, returns the same.
func FuzzPodStatus(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `{"phase":"Succeeded"}`, `{"phase":"\u0000","podIP":"::ffff:1.2.3.4","podIPs":[{"ip":"1.2.3.4"},{"ip":"::1"},{"ip":"::2"}]}`,
		`{"hostIP":"1.2.3.4","hostIPs":[{"ip":"::1"}],"startTime":"9999-12-31T23:59:59-23:00"}`,
		`{"conditions":[{"type":"Ready","status":"True"},{"type":"Ready","status":"False"},{"type":"PodScheduled","status":"False"},{"type":"","status":""}]}`,
		`{"containerStatuses":[{"name":"web","restartCount":-1,"state":{"waiting":{},"running":{},"terminated":{"exitCode":-1}}},{"name":"web"},{"name":"other"}]}`,
		`{"initContainerStatuses":[{"name":"init","state":{"running":{"startedAt":"0001-01-01T00:00:00+23:59"}}}],"ephemeralContainerStatuses":[{"name":"debug"}]}`,
		`{"containerStatuses":[{"name":"web","resources":{"limits":{"cpu":"-1","example.org/gpu":"1e99"}},"allocatedResources":{"x":"1"}}],"resources":{"requests":{"cpu":"1"}}}`,
		`{"containerStatuses":[{"name":"web","resources":{"limits":{"cpu":"` + strings.Repeat("9", 37) + `e18","example.org/gpu":"1e-18"}}}],"resources":{"requests":{"cpu":"9e18"}}}`,
	} {
		f.Add([]byte(seed), "x\n\xff\u202e", int64(-1), uint8(1))
	}
	f.Fuzz(func(t *testing.T, status []byte, text string, number int64, elems uint8) {
		local, remote := fieldtest.PodOf(t, fuzzed), &corev1.Pod{}
		if json.Unmarshal(status, &remote.Status) == nil {
			checkStatus(t, local, remote, Of(local, remote, routed, fieldtest.Present, 0))
		}
		f := fieldtest.Plain
		f.Text, f.Number, f.Elems = func() string { return text }, func() int64 { return number }, int(elems%8)
		fillStatus(f, remote)
		checkStatus(t, local, remote, Of(local, remote, routed, fieldtest.Present, 0))
	})
}

// fillStatus fills the status, and names its containers like existing ones.
func fillStatus(f fieldtest.Filler, pod *corev1.Pod) {
	f.Fill(reflect.ValueOf(&pod.Status).Elem())
	names := []string{"web", "init", "debug"}
	for i := range pod.Status.ContainerStatuses {
		pod.Status.ContainerStatuses[i].Name = names[i%len(names)]
	}
	for i := range pod.Status.Conditions {
		pod.Status.Conditions[i].Type = remoteConditions[i%len(remoteConditions)]
	}
}

func checkStatus(t *testing.T, local, remote *corev1.Pod, s corev1.PodStatus) {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > maxStatus {
		t.Errorf("%d bytes", len(data))
	}
	var back corev1.PodStatus
	if err := json.Unmarshal(data, &back); err != nil {
		t.Errorf("an API server could not read it: %v", err)
	}
	if s.QOSClass != local.Status.QOSClass {
		t.Errorf("the QoS class became %s", s.QOSClass)
	}
	if !sets.New(corev1.PodPending, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed).Has(s.Phase) {
		t.Errorf("the phase became %q", s.Phase)
	}
	checkStrings(t, reflect.ValueOf(s))
	checkAddresses(t, s)
	checkContainers(t, local.Spec.InitContainers, s.InitContainerStatuses)
	checkContainers(t, local.Spec.Containers, s.ContainerStatuses)
	again := local.DeepCopy()
	again.Status = s
	if diff := cmp.Diff(s, Of(again, remote, routed, fieldtest.Present.Add(time.Hour), time.Hour)); diff != "" {
		t.Errorf("asked again: %s", diff)
	}
}

func checkAddresses(t *testing.T, s corev1.PodStatus) {
	t.Helper()
	var pod, host []string
	for _, ip := range s.PodIPs {
		pod = append(pod, ip.IP)
	}
	for _, ip := range s.HostIPs {
		host = append(host, ip.IP)
	}
	for first, all := range map[*string][]string{&s.PodIP: pod, &s.HostIP: host} {
		families := sets.New[bool]()
		for _, ip := range all {
			families.Insert(netip.MustParseAddr(ip).Is4())
		}
		if len(families) != len(all) || len(all) == 0 && *first != "" || len(all) > 0 && all[0] != *first {
			t.Errorf("got %q and %q", *first, all)
		}
	}
}

func checkContainers(t *testing.T, spec []corev1.Container, statuses []corev1.ContainerStatus) {
	t.Helper()
	seen := sets.New[string]()
	for i := range statuses {
		s := &statuses[i]
		if !slices.ContainsFunc(spec, func(c corev1.Container) bool { return c.Name == s.Name }) || seen.Has(s.Name) || s.RestartCount < 0 {
			t.Errorf("got %s, restarted %d times", s.Name, s.RestartCount)
		}
		seen.Insert(s.Name)
		for _, state := range []corev1.ContainerState{s.State, s.LastTerminationState} {
			if v := reflect.ValueOf(state); !v.Field(0).IsNil() && !v.Field(1).IsNil() || !v.Field(2).IsNil() && (!v.Field(0).IsNil() || !v.Field(1).IsNil()) {
				t.Errorf("%s is in two states", s.Name)
			}
		}
		if s.Name == "init" && s.State.Terminated == nil {
			t.Error("an init container that had ended runs again")
		}
	}
}

// checkStrings checks that a value has no unprintable characters. Only messages of containers may have
// line breaks.
func checkStrings(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			checkStrings(t, v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			checkStrings(t, v.Index(i))
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.Name == "Message" && strings.HasPrefix(v.Type().Name(), "ContainerState") {
				value = reflect.ValueOf(strings.NewReplacer("\n", " ", "\t", " ").Replace(value.String()))
			}
			if field.IsExported() {
				checkStrings(t, value)
			}
		}
	case reflect.String:
		s := v.String()
		for _, r := range s {
			if !unicode.IsPrint(r) {
				t.Errorf("%q cannot be printed", s)
			}
		}
		if utf8.RuneCountInString(s) > maxTermination || !utf8.ValidString(s) {
			t.Errorf("too long, or not UTF-8: %q", s)
		}
	}
}
