//go:build bench

package performance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/spillway-io/spillway/test/performance/floor"
)

// lives has what an independent watch has seen of the pods of a namespace.
type lives struct {
	mu          sync.Mutex
	ready, gone map[string]time.Time
	status      map[string]corev1.PodStatus
	changes     int
	deleting    bool // Pods may be deleted now.
	err         error
}

// watchPods watches the pods of a namespace in one or more clusters until ctx ends. The namespace must not
// have pods yet.
func watchPods(ctx context.Context, namespace string, clusters ...kubernetes.Interface) (*lives, error) {
	l := &lives{ready: map[string]time.Time{}, gone: map[string]time.Time{}, status: map[string]corev1.PodStatus{}}
	for _, cluster := range clusters {
		watcher, err := floor.WatchPods(ctx, cluster, namespace)
		if err != nil {
			return nil, err
		}
		go l.follow(ctx, watcher)
	}
	return l, nil
}

func (l *lives) follow(ctx context.Context, watcher watch.Interface) {
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		l.note(event, time.Now())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() == nil && l.err == nil {
		l.err = errors.New("a watch of the benchmark has ended, and its figures with it")
	}
}

func (l *lives) note(event watch.Event, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pod, ok := event.Object.(*corev1.Pod)
	if !ok {
		l.err = apierrors.FromObject(event.Object)
		return
	}
	before, known := l.status[pod.Name]
	if event.Type == watch.Deleted {
		if !l.deleting && l.err == nil {
			l.err = fmt.Errorf("pod %s is gone, and nobody has asked for that", pod.Name)
		}
		l.gone[pod.Name] = now
		delete(l.status, pod.Name)
		return
	}
	if known && !equality.Semantic.DeepEqual(before, pod.Status) {
		l.changes++
	}
	l.status[pod.Name] = pod.Status
	if _, was := l.ready[pod.Name]; !was && isReady(pod) {
		l.ready[pod.Name] = now
	}
}

func isReady(pod *corev1.Pod) bool {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// mayGo allows deletions from now on.
func (l *lives) mayGo() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deleting = true
}

// allReady and allGone return what is missing of n pods.
func (l *lives) allReady(n int) error {
	return l.all("Ready", n, func() int { return len(l.ready) })
}

func (l *lives) allGone(n int) error {
	return l.all("gone", n, func() int { return len(l.gone) })
}

// ended returns why the figures are no longer valid.
func (l *lives) ended() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

func (l *lives) all(what string, n int, count func() int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if count() < n {
		return fmt.Errorf("%d of %d pods are %s", count(), n, what)
	}
	return nil
}

// timing compares when each pod was requested with when it was Ready or gone.
func (l *lives) timing(asked map[string]time.Time, began time.Time, there map[string]time.Time) Timing {
	l.mu.Lock()
	defer l.mu.Unlock()
	var each []time.Duration
	var together time.Duration
	for name, at := range there {
		each = append(each, at.Sub(asked[name]))
		together = max(together, at.Sub(began))
	}
	return timingOf(each, together)
}

// statusChanges returns how often the status of a pod has changed.
func (l *lives) statusChanges() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.changes
}
