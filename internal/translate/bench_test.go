package translate

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

const reported = `
phase: Running
hostIP: 192.168.0.1
hostIPs: [{ip: 192.168.0.1}]
podIP: 10.0.0.1
podIPs: [{ip: 10.0.0.1}]
startTime: "2026-01-02T03:04:05Z"
conditions:
- {type: PodReadyToStartContainers, status: "True", lastTransitionTime: "2026-01-02T03:04:05Z"}
- {type: Initialized, status: "True", lastTransitionTime: "2026-01-02T03:04:05Z"}
- {type: Ready, status: "True", lastTransitionTime: "2026-01-02T03:04:05Z"}
- {type: ContainersReady, status: "True", lastTransitionTime: "2026-01-02T03:04:05Z"}
- {type: PodScheduled, status: "True", lastTransitionTime: "2026-01-02T03:04:05Z"}
initContainerStatuses:
- {name: init, ready: true, image: "init:1", imageID: sha256:0123, containerID: containerd://0123, state: {terminated: {exitCode: 0, reason: Completed}}}
containerStatuses:
- name: web
  ready: true
  started: true
  image: web:1
  imageID: sha256:0123
  containerID: containerd://0123
  state: {running: {startedAt: "2026-01-02T03:04:05Z"}}
  allocatedResources: {cpu: 1}
  resources: {requests: {cpu: 1}}`

func BenchmarkPod(b *testing.B) {
	local := podOf(b, bound)
	b.ReportAllocs()
	for b.Loop() {
		if _, refusal := Pod(local, shared, generous, nil); refusal != nil {
			b.Fatal(refusal)
		}
	}
}

// BenchmarkPodUpdate measures the usual case: nobody has changed the pod.
func BenchmarkPodUpdate(b *testing.B) {
	local := podOf(b, running)
	remote := sentPod(b, local, shared)
	b.ReportAllocs()
	for b.Loop() {
		if PodUpdate(local, remote, shared, generous).Main != nil {
			b.Fatal("there is nothing to send")
		}
	}
}

func BenchmarkPodStatus(b *testing.B) {
	local := podOf(b, bound)
	remote := &corev1.Pod{Status: *parse[corev1.PodStatus](b, reported)}
	b.ReportAllocs()
	for b.Loop() {
		if PodStatus(local, remote, routed, present, 0).Phase != corev1.PodRunning {
			b.Fatal("it does not run")
		}
	}
}

func BenchmarkPodReferences(b *testing.B) {
	local := podOf(b, bound)
	b.ReportAllocs()
	for b.Loop() {
		if len(PodReferences(local).ConfigMaps) != 1 {
			b.Fatal("there is one")
		}
	}
}
