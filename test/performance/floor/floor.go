// Package floor is the minimal program that runs pods in another cluster: a bare client-go program in its own
// process. It follows the pods of its nodes. It creates each in the provider that the node represents, copies
// two statuses back (running and ended), and forwards deletions. It decides nothing, recovers from nothing
// and reads nothing. The benchmark compares Spillway with it.
//
// Its clients must speak protobuf and have no rate limit. Its namespace must exist in all clusters, without
// pods.
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
	// writers is how many requests the floor sends at a time to each provider, and to the consumer for each
	// provider. Spillway has as many.
	writers = 16
	// queued is how many jobs a writer may be behind; then the sender waits.
	queued = 1024
)

// Floor mirrors pods between clusters.
type Floor struct {
	Consumer  kubernetes.Interface
	Providers []kubernetes.Interface
	Namespace string
	// Nodes maps the nodes of the consumer to the index of the provider that they represent.
	Nodes map[string]int

	fail context.CancelCauseFunc // Nothing is tried twice: the first error ends the floor.
	// sent has the pods that have been sent. The value is true if their deletion has been sent, too. Only the
	// watch of the consumer uses it.
	sent map[string]bool
	// shown has the last phase that was written for each pod. An API server shows a deleted pod again,
	// unchanged, when it needs no more grace.
	shown sync.Map
}

// Run mirrors pods until ctx ends, and returns the first error. It calls ready when its watches run.
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

// queues has a channel for each writer.
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

// hand makes a writer do something for a pod. Jobs for the same pod run one after the other.
func (q queues) hand(ctx context.Context, pod string, do func() error) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(pod))
	select {
	case q[hash.Sum32()%writers] <- do:
	case <-ctx.Done():
	}
}

// watch calls handle for each event of a cluster's pods, in order.
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

// WatchPods watches the pods of a namespace that has none yet. On a busy machine, an API server ends a watch
// that falls behind for some milliseconds; this watch then resumes.
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

// follow creates the remote pod when the local one has a node. It deletes the remote pod when the local one
// is deleted, with its own grace period.
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

// remoteOf returns a copy of the local pod without what belongs to its cluster.
func remoteOf(local *corev1.Pod) *corev1.Pod {
	remote := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: local.Namespace, Name: local.Name, Labels: local.Labels},
		Spec: corev1.PodSpec{
			Containers: slices.Clone(local.Spec.Containers), TerminationGracePeriodSeconds: local.Spec.TerminationGracePeriodSeconds,
		},
	}
	for i := range remote.Spec.Containers {
		remote.Spec.Containers[i].VolumeMounts = nil // The token's mount: the provider adds it again.
	}
	return remote
}

// mirror forwards an event of a remote pod to the local one: its status when it runs, its end when it is
// deleted, and its deletion. That the provider has scheduled it leads to no write.
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
