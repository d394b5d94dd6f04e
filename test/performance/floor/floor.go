// Package floor is the least that it takes to run pods in other clusters: a bare
// client-go program that creates each pod in both, and patches the status of the
// local one from a watch on the remote ones. It decides nothing, recovers from
// nothing and reads nothing. What Spillway does is compared with it, to see what
// deciding, recovering and reading cost.
//
//	f := floor.Floor{Consumer: consumer, Providers: providers, Namespace: "floor"}
//	running, err := f.Start(ctx)
//	running.Create(ctx, provider, pod) // several at a time
//	running.Delete(ctx, name)
//	err = running.Stop()
//
// It is to have clients without a rate limit, which speak protobuf, and the
// namespace is to be in all clusters.
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
	// writers is how many requests the floor has under way at most for each
	// provider, of its own accord: as many as Spillway has.
	writers = 16
	// queued is how many jobs a writer may be behind; then who has more waits.
	queued = 1024
)

// Floor says between which clusters pods are mirrored.
type Floor struct {
	Consumer  kubernetes.Interface
	Providers []kubernetes.Interface
	Namespace string
	// Nodes, if set, are the nodes of the consumer by the index of the provider that they
	// stand for. A pod is then created in the provider not at once, but when the local one
	// is seen on its node, and deleted there when the local one is seen to be deleted.
	Nodes map[string]int
}

// Running is a Floor that has its watches open.
type Running struct {
	Floor
	cancel  context.CancelFunc
	workers sync.WaitGroup
	queues  [][]chan job // Of the writers to each provider.
	mirrors [][]chan job // Of those of what comes back from it, which waits for no creation.

	mu     sync.Mutex
	errs   []error
	placed map[string]int // The provider of each pod; -1 once it is deleted there.
}

// Start opens the watches. They end with Stop, or with ctx.
func (f Floor) Start(ctx context.Context) (*Running, error) {
	ctx, cancel := context.WithCancel(ctx)
	r := f.running(ctx, cancel)
	for i, provider := range f.Providers {
		mirror := func(event watch.EventType, remote *corev1.Pod) {
			hand(ctx, r.mirrors[i], remote.Name, func(ctx context.Context) error { return r.mirror(ctx, event, remote) })
		}
		if err := r.watch(ctx, provider, mirror); err != nil {
			return nil, errors.Join(fmt.Errorf("watching the pods of provider %d: %w", i, err), r.Stop())
		}
	}
	if f.Nodes != nil {
		follow := func(event watch.EventType, local *corev1.Pod) { r.follow(ctx, event, local) }
		if err := r.watch(ctx, f.Consumer, follow); err != nil {
			return nil, errors.Join(fmt.Errorf("watching the pods of the consumer: %w", err), r.Stop())
		}
	}
	return r, nil
}

// running has its writers, and no watches yet.
func (f Floor) running(ctx context.Context, cancel context.CancelFunc) *Running {
	r := &Running{Floor: f, cancel: cancel, placed: map[string]int{}}
	for range f.Providers {
		r.queues = append(r.queues, r.newWriters(ctx))
		r.mirrors = append(r.mirrors, r.newWriters(ctx))
	}
	return r
}

// newWriters starts some writers, and returns their queues.
func (r *Running) newWriters(ctx context.Context) []chan job {
	queues := make([]chan job, writers)
	for i := range queues {
		queues[i] = make(chan job, queued)
		r.workers.Go(func() { r.write(ctx, queues[i]) })
	}
	return queues
}

// job is what has to be done for a pod: a request.
type job func(context.Context) error

// hand has a writer do a job, one after the other for the same
// pod. Whoever hands it over waits for no answer: the burst that is measured is
// that of its caller.
func hand(ctx context.Context, queues []chan job, pod string, do job) {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(pod))
	select {
	case queues[hash.Sum32()%writers] <- do:
	case <-ctx.Done():
	}
}

// write does what comes through a queue, until the end.
func (r *Running) write(ctx context.Context, queue <-chan job) {
	for {
		select {
		case do := <-queue:
			r.note(ctx, do(ctx))
		case <-ctx.Done():
			return
		}
	}
}

// watch has each event of the pods of a cluster handled, in order.
func (r *Running) watch(ctx context.Context, cluster kubernetes.Interface, handle func(watch.EventType, *corev1.Pod)) error {
	watcher, err := WatchPods(ctx, cluster, r.Namespace)
	if err != nil {
		return err
	}
	r.workers.Go(func() {
		defer watcher.Stop()
		for event := range watcher.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok {
				handle(event.Type, pod)
			} else {
				r.note(ctx, fmt.Errorf("watching pods: %w", apierrors.FromObject(event.Object)))
			}
		}
	})
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

// mirror brings an event of a remote pod to the local one: each status of a pod that is
// to run, and of one that is deleted its end, as a kubelet does.
func (r *Running) mirror(ctx context.Context, event watch.EventType, remote *corev1.Pod) error {
	local := r.Consumer.CoreV1().Pods(r.Namespace)
	switch {
	case event == watch.Deleted:
		return local.Delete(ctx, remote.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	case event == watch.Modified && (remote.DeletionTimestamp.IsZero() || remote.Status.Phase != corev1.PodRunning):
		patch, err := json.Marshal(map[string]any{"status": remote.Status})
		if err != nil {
			return err
		}
		_, err = local.Patch(ctx, remote.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		return err
	default:
		return nil
	}
}

// note keeps an error; those that come of the end are none.
func (r *Running) note(ctx context.Context, err error) {
	if err == nil || ctx.Err() != nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

// follow has the remote pod of a local one created that has got a node, and deleted when the
// local one is deleted.
func (r *Running) follow(ctx context.Context, event watch.EventType, local *corev1.Pod) {
	provider, ours := r.Nodes[local.Spec.NodeName]
	switch {
	case !ours || event == watch.Deleted:
	case local.DeletionTimestamp != nil:
		if r.leave(local.Name) {
			hand(ctx, r.queues[provider], local.Name, func(ctx context.Context) error { return r.deleteRemote(ctx, provider, local.Name) })
		}
	case r.place(local.Name, provider):
		hand(ctx, r.queues[provider], local.Name, func(ctx context.Context) error { return r.createRemote(ctx, provider, local) })
	}
}

// leave notes that a pod is to be deleted in its provider, and reports whether that is new.
func (r *Running) leave(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	provider, known := r.placed[name]
	r.placed[name] = -1
	return known && provider >= 0
}

func (r *Running) deleteRemote(ctx context.Context, provider int, name string) error {
	return r.Providers[provider].CoreV1().Pods(r.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
}

// place notes the provider of a pod, and reports whether it was not known yet.
func (r *Running) place(name string, provider int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.placed[name]
	r.placed[name] = provider
	return !known
}

// Create creates local in the consumer, and, unless it waits for a node, has the
// same pod created in the provider of that index. It does not wait for that; what
// goes wrong with it is in Err.
func (r *Running) Create(ctx context.Context, provider int, local *corev1.Pod) error {
	created, err := r.Consumer.CoreV1().Pods(r.Namespace).Create(ctx, local, metav1.CreateOptions{})
	if err != nil || r.Nodes != nil {
		return err
	}
	r.place(local.Name, provider)
	hand(ctx, r.queues[provider], local.Name, func(ctx context.Context) error { return r.createRemote(ctx, provider, created) })
	return nil
}

// createRemote creates what is in the local pod and not of its cluster.
func (r *Running) createRemote(ctx context.Context, provider int, local *corev1.Pod) error {
	remote := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: local.Namespace, Name: local.Name, Labels: local.Labels},
		Spec: corev1.PodSpec{
			Containers: slices.Clone(local.Spec.Containers), TerminationGracePeriodSeconds: local.Spec.TerminationGracePeriodSeconds,
		},
	}
	for i := range remote.Spec.Containers {
		remote.Spec.Containers[i].VolumeMounts = nil // That of the token, which the provider mounts again.
	}
	_, err := r.Providers[provider].CoreV1().Pods(r.Namespace).Create(ctx, remote, metav1.CreateOptions{})
	return err
}

// Delete deletes the pod of that name in the consumer, and, unless that is seen anyway, then
// has it deleted in its provider, with the grace that it has. It does not wait for that; what
// goes wrong with it is in Err.
func (r *Running) Delete(ctx context.Context, name string) error {
	r.mu.Lock()
	provider, placed := r.placed[name]
	r.mu.Unlock()
	if !placed {
		return fmt.Errorf("pod %s is in no provider", name)
	}
	err := r.Consumer.CoreV1().Pods(r.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil || r.Nodes != nil {
		return err
	}
	hand(ctx, r.queues[provider], name, func(ctx context.Context) error { return r.deleteRemote(ctx, provider, name) })
	return nil
}

// Err is what has gone wrong so far. What has is not tried again.
func (r *Running) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.errs...)
}

// Stop closes the watches, and returns what has gone wrong.
func (r *Running) Stop() error {
	r.cancel()
	r.workers.Wait()
	return r.Err()
}
