package status

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
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

func BenchmarkPodStatus(b *testing.B) {
	local := fieldtest.PodOf(b, fieldtest.Bound)
	remote := &corev1.Pod{Status: *fieldtest.Parse[corev1.PodStatus](b, reported)}
	b.ReportAllocs()
	for b.Loop() {
		if Of(local, remote, routed, fieldtest.Present, 0).Phase != corev1.PodRunning {
			b.Fatal("it does not run")
		}
	}
}
