package hostile

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

const (
	// replicas is the number of pods that are created and ended.
	replicas = 100
	// fewEnds is the number of pods that may end soon before the manager holds back the next ones. At that
	// moment, more pods may be underway: one for each pod that the test reaps at the same time, and one for
	// each worker. The manager also sends some pods as a trial during this time.
	fewEnds, underway = 20, 16 + 16 + 8
)

// reaping makes the hostile provider end each pod as soon as it comes or as soon as it runs. The manager
// itself sends a pod again that has not shown any status yet.
func (s *setup) reaping(t *testing.T) {
	var held atomic.Int64
	before, done := s.sent(), make(chan error, 1)
	go func() {
		done <- rig.ForEach(t.Context(), replicas, func(ctx context.Context, i int) error {
			waits, err := s.reap(ctx, newPod(fmt.Sprintf("reaped-%03d", i), bad), i%2 == 0)
			if waits {
				held.Add(1)
			}
			return err
		})
	}()
	meanwhile := s.round(t, "reaping")
	must(t, <-done)
	sent := s.sent() - before
	if sent < fewEnds || sent > fewEnds+underway {
		t.Errorf("pods that are ended at once were sent %d times, want from %d to %d", sent, fewEnds, fewEnds+underway)
	}
	if held.Load() < replicas-fewEnds-underway {
		t.Errorf("%d pods of %d say why they wait", held.Load(), replicas)
	}
	t.Logf("%d pods wait, and pods were sent %d times; those of the good one run after %s", held.Load(), sent, p99(meanwhile))
}

// sent is the number of pods that the manager has created in the hostile provider.
func (s *setup) sent() int {
	n := 0
	for _, request := range s.counter.Log(requests.Cluster(bad), requests.OnlyWork) {
		if request.Verb == "create" && request.Resource == "pods" {
			n++
		}
	}
	return n
}

// reap creates a pod, and ends it in the hostile provider each time it comes there. It deletes the local pod
// when that has failed, or when its status says that it waits.
func (s *setup) reap(ctx context.Context, pod *corev1.Pod, runs bool) (waits bool, err error) {
	if err := s.Consumer.Admin.Create(ctx, pod); err != nil {
		return false, err
	}
	if err := rig.Eventually(ctx, patience, func(ctx context.Context) error {
		local, remote := &corev1.Pod{}, &corev1.Pod{}
		if err := s.Consumer.Watched.Get(ctx, client.ObjectKeyFromObject(pod), local); err != nil {
			return err
		}
		if s.Providers[1].Watched.Get(ctx, client.ObjectKey{Namespace: remoteNamespace(), Name: pod.Name}, remote) == nil {
			if err := s.end(ctx, remote, runs && local.Status.Phase != corev1.PodRunning); err != nil {
				return err
			}
		}
		if waits = isHeld(local); !waits && local.Status.Reason != v1alpha1.ReasonRemotePodLost {
			return fmt.Errorf("pod %s is %s %s", pod.Name, local.Status.Phase, local.Status.Reason)
		}
		return nil
	}); err != nil {
		return false, err
	}
	return waits, s.Consumer.Admin.Delete(ctx, pod)
}

// end ends a pod in the hostile provider. If runs is set, it only reports that the pod runs.
func (s *setup) end(ctx context.Context, remote *corev1.Pod, runs bool) error {
	if !runs {
		return client.IgnoreNotFound(s.Providers[1].Admin.Delete(ctx, remote, client.GracePeriodSeconds(0)))
	}
	before := remote.DeepCopy()
	remote.Status.Phase = corev1.PodRunning
	return s.Providers[1].Admin.Status().Patch(ctx, remote, client.MergeFrom(before))
}

// isHeld reports whether a pod says that others were ended too soon.
func isHeld(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == v1alpha1.PodOffloaded && c.Status == corev1.ConditionFalse && c.Reason == v1alpha1.ReasonEndedTooSoon {
			return true
		}
	}
	return false
}
