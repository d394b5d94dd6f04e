package scenario

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/test/faults/world"
)

const (
	// flaps is how often the status changes, and flapInterval is the time between changes.
	flaps        = 300
	flapInterval = 10 * time.Millisecond
	// fewWrites may come at once, then one each writeInterval.
	fewWrites     = 5
	writeInterval = time.Second
)

// docs/pods.md: the manager writes a pod's status a few times at once, and then once a second, however often
// the provider changes it. It always writes the last status, and writes at once that a pod has ended.
var statusFlaps = Scenario{
	Name: "status-flaps", Prepare: withPod(world.P1),
	Steps: []Step{{
		Name:  "its status changes a hundred times a second",
		Do:    flap,
		Until: all(podIs(corev1.PodRunning, team, web, world.P1), says(flaps)),
	}, podSucceeds},
}

// flap changes the status of the remote pod, and counts the writes in the consumer.
func flap(ctx context.Context, w *world.World) error {
	at := remotely(team, web)(w)
	pod, err := get[corev1.Pod](ctx, w, world.P1, at.Namespace, at.Name)
	if err != nil {
		return err
	}
	written, end, err := countStatuses(ctx, w)
	if err != nil {
		return err
	}
	defer end()
	began := time.Now()
	ticker := time.NewTicker(flapInterval)
	defer ticker.Stop()
	for i := range flaps {
		before := pod.DeepCopy()
		pod.Status.Message = message(i + 1)
		if err := w.Cluster(world.P1).Admin.Status().Patch(ctx, pod, client.MergeFrom(before)); err != nil {
			return err
		}
		<-ticker.C
	}
	// If it took longer than planned, more writes are allowed.
	if most := fewWrites + int64(time.Since(began)/writeInterval) + 1; written.Load() > most {
		return NotMet(fmt.Errorf("%d changes of a status were written %d times, want at most %d", flaps, written.Load(), most))
	}
	return nil
}

func message(i int) string { return fmt.Sprintf("flap %d", i) }

// countStatuses counts the changes of the local pod from now on.
func countStatuses(ctx context.Context, w *world.World) (written *atomic.Int64, end func(), err error) {
	consumer, err := client.NewWithWatch(w.Cluster(world.Consumer).Config(), client.Options{})
	if err != nil {
		return nil, nil, err
	}
	pod, err := get[corev1.Pod](ctx, w, world.Consumer, team, web)
	if err != nil {
		return nil, nil, err
	}
	changes, err := consumer.Watch(ctx, &corev1.PodList{}, client.InNamespace(team), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: pod.ResourceVersion}})
	if err != nil {
		return nil, nil, err
	}
	written = &atomic.Int64{}
	go func() {
		for range changes.ResultChan() {
			written.Add(1) // There is no other pod.
		}
	}()
	return written, changes.Stop, nil
}

// says wants the local pod to show the message of the i-th change.
func says(i int) Func {
	return func(ctx context.Context, w *world.World) error {
		pod, err := get[corev1.Pod](ctx, w, world.Consumer, team, web)
		if err != nil {
			return err
		}
		return wrap("pod "+team+"/"+web, same("the message", pod.Status.Message, message(i)))
	}
}
