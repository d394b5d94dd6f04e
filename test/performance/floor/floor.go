// Package floor is the least that it takes to run pods in another cluster: a bare
// client-go program, as a process of its own, which follows the pods of its nodes. It
// creates each in the provider that the node stands for, brings two statuses back, that it
// runs and how it ended, and passes deletions on. It decides nothing, recovers from nothing
// and reads nothing. What Spillway does is compared with it.
//
// Its clients are to have no rate limit, and speak protobuf. Its namespace is to be in all
// clusters, without pods.
package floor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/ptr"
)

const (
	// writers is how many requests the floor has under way at most to each
	// provider, and as many for what comes back from it: as many as Spillway has.
	writers = 16
	// queued is how many jobs a writer may be behind; then who has more waits.
	queued = 1024
)

// Floor says between which clusters pods are mirrored.
type Floor struct {
	Consumer  kubernetes.Interface
	Providers []kubernetes.Interface
	Namespace string
	// Nodes are the nodes of the consumer, by the index of the provider that they stand for.
	Nodes map[string]int

	fail context.CancelCauseFunc // Nothing is tried twice: what fails ends it.
	// sent has the pods that have been sent, and whether their deletion has been, too. Only
	// the watch of the consumer uses it.
	sent map[string]bool
	// shown has the last phase of each pod that its status was written for: an API server
	// shows a pod again, as it was, when its deletion needs no more grace.
	shown sync.Map
}

// Run mirrors pods until ctx ends, and returns what has gone wrong. It calls ready when it
// has its watches.
func (f *Floor) Run(ctx context.Context, ready func()) error {
	ctx, f.fail = context.WithCancelCause(ctx)
	defer f.fail(nil)
	f.sent = map[string]bool{}
	var out []queues
	for i, provider := range f.Providers {
		out = append(out, f.newQueues(ctx))
		back := f.newQueues(ctx)
		if err := f.watch(ctx, provider, func(event watch.EventType, remote *corev1.Pod) {
			back.hand(ctx, remote.Name, func() error { return f.mirror(ctx, event, remote) })
		}); err != nil {
			return fmt.Errorf("watching the pods of provider %d: %w", i, err)
		}
	}
	if err := f.watch(ctx, f.Consumer, func(event watch.EventType, local *corev1.Pod) { f.follow(ctx, out, event, local) }); err != nil {
		return fmt.Errorf("watching the pods of the consumer: %w", err)
	}
	ready()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// queues has one for each of some writers.
type queues []chan func() error

func (f *Floor) newQueues(ctx context.Context) queues {
	all := make(queues, writers)
	for i := range all {
		all[i] = make(chan func() error, queued)
		go func() {
			for {
				select {
				case do := <-all[i]:
					if err := do(); err != nil {
						f.fail(err)
					}
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return all
}

// hand has a writer do something for a pod, one after the other for the same pod.
func (q queues) hand(ctx context.Context, pod string, do func() error) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(pod))
	select {
	case q[hash.Sum32()%writers] <- do:
	case <-ctx.Done():
	}
}

// watch has each event of the pods of a cluster handled, in order.
func (f *Floor) watch(ctx context.Context, cluster kubernetes.Interface, handle func(watch.EventType, *corev1.Pod)) error {
	watcher, err := WatchPods(ctx, cluster, f.Namespace)
	if err != nil {
		return err
	}
	go func() {
		defer watcher.Stop()
		for event := range watcher.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				handle(event.Type, pod)
			} else {
				f.fail(fmt.Errorf("watching pods: %w", apierrors.FromObject(event.Object)))
			}
		}
	}()
	return nil
}

// WatchPods watches the pods of a namespace, of which there are none yet. An API
// server ends a watch that does not keep up with it for some milliseconds, as
// happens on a busy machine; this one goes on where it was.
func WatchPods(ctx context.Context, cluster kubernetes.Interface, namespace string) (watch.Interface, error) {
	pods := cluster.CoreV1().Pods(namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	if len(list.Items) > 0 {
		return nil, fmt.Errorf("there are %d pods in %s already", len(list.Items), namespace)
	}
	return watchtools.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, options)
		},
	})
}

// follow has the remote pod of a local one created that has got a node, and deleted when the
// local one is deleted, with the grace that it has.
func (f *Floor) follow(ctx context.Context, out []queues, event watch.EventType, local *corev1.Pod) {
	provider, ours := f.Nodes[local.Spec.NodeName]
	deleted, sent := f.sent[local.Name]
	if !ours || deleted {
		return
	}
	pods := f.Providers[provider].CoreV1().Pods(f.Namespace)
	switch {
	case event == watch.Deleted:
	case local.DeletionTimestamp != nil:
		f.sent[local.Name] = true
		out[provider].hand(ctx, local.Name, func() error { return pods.Delete(ctx, local.Name, metav1.DeleteOptions{}) })
	case !sent:
		f.sent[local.Name] = false
		out[provider].hand(ctx, local.Name, func() error {
			_, err := pods.Create(ctx, remoteOf(local), metav1.CreateOptions{})
			return err
		})
	}
}

// remoteOf has what is in the local pod and not of its cluster.
func remoteOf(local *corev1.Pod) *corev1.Pod {
	remote := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: local.Namespace, Name: local.Name, Labels: local.Labels},
		Spec: corev1.PodSpec{
			Containers: slices.Clone(local.Spec.Containers), TerminationGracePeriodSeconds: local.Spec.TerminationGracePeriodSeconds,
		},
	}
	for i := range remote.Spec.Containers {
		remote.Spec.Containers[i].VolumeMounts = nil // That of the token, which the provider mounts again.
	}
	return remote
}

// mirror brings an event of a remote pod to the local one: its status once it runs, its end
// once it is deleted, and that it is gone. That it has a node in the provider is no news.
func (f *Floor) mirror(ctx context.Context, event watch.EventType, remote *corev1.Pod) error {
	local, phase := f.Consumer.CoreV1().Pods(f.Namespace), remote.Status.Phase
	switch {
	case event == watch.Deleted:
		f.shown.Delete(remote.Name)
		return local.Delete(ctx, remote.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	case phase == corev1.PodPending:
		return nil
	}
	if before, known := f.shown.Swap(remote.Name, phase); known && before == phase {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": remote.Status})
	if err != nil {
		return err
	}
	_, err = local.Patch(ctx, remote.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}
