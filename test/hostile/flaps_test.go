package hostile

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/performance/rig"
	"github.com/spillway-io/spillway/test/requests"
)

const (
	// flaps is the number of times that a status changes, and flapInterval is the time between two changes.
	flaps        = 500
	flapInterval = 10 * time.Millisecond
	// fewWrites is the number of writes of a status that may come at once. After them, one write may come
	// each second.
	fewWrites = 5
	// longest is the largest number of characters of a message that is shown.
	longest = 1024
)

// flapping changes the status of a pod in the hostile provider a hundred times a second. The last change is a
// message of a megabyte.
func (s *setup) flapping(t *testing.T) {
	const name = "flapping"
	must(t, s.Consumer.Admin.Create(t.Context(), newPod(name, bad)))
	must(t, setPhase(t.Context(), s.Providers[1], name, corev1.PodRunning))
	s.shows(t, name, func(status corev1.PodStatus) bool { return status.Phase == corev1.PodRunning })
	heap, before, began := watchHeap(), s.written(name), time.Now()
	done := make(chan error, 1)
	go func() { done <- s.flap(t.Context(), name) }()
	meanwhile := s.round(t, "flaps")
	must(t, <-done)
	took := time.Since(began)
	last := message(flaps)
	s.shows(t, name, func(status corev1.PodStatus) bool { return status.Message == last })
	most := fewWrites + int(took/time.Second) + 2 // Two more: the last change, and the second that has begun.
	if got := s.written(name) - before; got > most {
		t.Errorf("%d changes were written %d times within %s, want at most %d", flaps, got, took, most)
	}
	must(t, s.say(t.Context(), name, strings.Repeat("\x1b[31m ü", 150_000)))
	s.shows(t, name, func(status corev1.PodStatus) bool {
		return status.Message != last && utf8.RuneCountInString(status.Message) <= longest && !strings.Contains(status.Message, "\x1b")
	})
	t.Logf("heap at most %d MiB; %d writes of %d changes in %s; pods of the good one run after %s",
		heap()>>20, s.written(name)-before, flaps, took.Round(time.Second), p99(meanwhile))
}

// flap changes the status of a remote pod.
func (s *setup) flap(ctx context.Context, name string) error {
	ticker := time.NewTicker(flapInterval)
	defer ticker.Stop()
	for i := range flaps {
		if err := s.say(ctx, name, message(i+1)); err != nil {
			return err
		}
		<-ticker.C
	}
	return nil
}

func message(i int) string { return fmt.Sprintf("flap %d", i) }

// say sets the message of a pod in the hostile provider.
func (s *setup) say(ctx context.Context, name, message string) error {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name = remoteNamespace(), name
	before := pod.DeepCopy()
	pod.Status.Message = message
	return s.Providers[1].Admin.Status().Patch(ctx, pod, client.MergeFrom(before))
}

// written is the number of times that the manager has written the status of a local pod.
func (s *setup) written(name string) int {
	return s.counter.Figures().Writes[requests.Object{
		Cluster: s.Consumer.ID, Resource: "pods", Subresource: "status", Namespace: rig.Namespace(0).GetName(), Name: name,
	}]
}

// shows waits for a status of a local pod.
func (s *setup) shows(t *testing.T, name string, want func(corev1.PodStatus) bool) {
	t.Helper()
	s.eventually(t, "the status of pod "+name, func(ctx context.Context) error {
		pod := &corev1.Pod{}
		if err := s.Consumer.Watched.Get(ctx, client.ObjectKey{Namespace: rig.Namespace(0).GetName(), Name: name}, pod); err != nil {
			return err
		}
		if !want(pod.Status) {
			return fmt.Errorf("it is %s: %.100s", pod.Status.Phase, pod.Status.Message)
		}
		return nil
	})
}
