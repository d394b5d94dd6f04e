package pod_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/controllers/toprovider/pod"
	"github.com/spillway-io/spillway/internal/engine/decide"
	fixture "github.com/spillway-io/spillway/internal/engine/decide/decidetest"
)

// BenchmarkDecide measures the whole decision about one pod, at the stages that every pod goes through.
func BenchmarkDecide(b *testing.B) {
	running := []func(*corev1.Pod){started, phase(corev1.PodRunning), offloaded(corev1.ConditionTrue, "Offloaded", "")}
	for name, moment := range map[string]snapshot{
		"to be created":        in(local(), nil),
		"created":              in(local(), remote()),
		"it runs":              in(local(started), remote(phase(corev1.PodRunning))),
		"nothing has changed":  in(local(running...), remote(phase(corev1.PodRunning))),
		"its deletion is sent": in(local(append(running, going(30))...), remote(phase(corev1.PodRunning))),
		"it is gone there":     in(local(append(running, going(30))...), nil),
	} {
		b.Run(name, func(b *testing.B) {
			subject := fixture.Of(moment)
			b.ReportAllocs()
			for b.Loop() {
				decide.Next(subject, pod.Syncer{})
			}
		})
	}
}
