//go:build upgrade

package upgrade

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"

	"github.com/spillway-io/spillway/test/performance/rig"
)

// mostProblems is how many are kept: when all goes wrong, some say enough.
const mostProblems = 20

// witness watches the pods of a cluster on behalf of those who own them.
type witness struct {
	cluster string
	// ours chooses the pods.
	ours func(*corev1.Pod) bool

	mu sync.Mutex
	// kept are the pods to which nothing may happen, by their UID.
	kept     map[types.UID]string
	problems []string
}

// watch begins to watch, with nothing to be kept yet.
func watch(ctx context.Context, c *rig.Cluster, ours func(*corev1.Pod) bool) (*witness, error) {
	w := &witness{cluster: c.ID, ours: ours, kept: map[types.UID]string{}}
	informer, err := c.Watched.GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return nil, err
	}
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		UpdateFunc: func(was, is any) { w.changed(was, is) },
		DeleteFunc: func(last any) { w.gone(last) },
	})
	return w, err
}

// keep is called when all is as it should stay.
func (w *witness) keep(pods []corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range pods {
		if w.ours(&pods[i]) {
			w.kept[pods[i].UID] = pods[i].Namespace + "/" + pods[i].Name
		}
	}
}

func (w *witness) changed(was, is any) {
	before, ok := was.(*corev1.Pod)
	after, alsoOK := is.(*corev1.Pod)
	if !ok || !alsoOK {
		return
	}
	if before.UID != after.UID { // Between two lists a watch may have missed both events.
		w.problem(before.UID, "was made again")
		return
	}
	if text := trouble(after); text != "" {
		w.problem(after.UID, text)
	}
}

func (w *witness) gone(last any) {
	if tombstone, ok := last.(toolscache.DeletedFinalStateUnknown); ok {
		last = tombstone.Obj
	}
	if pod, ok := last.(*corev1.Pod); ok {
		w.problem(pod.UID, "is gone")
	}
}

func (w *witness) problem(uid types.UID, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if name, kept := w.kept[uid]; kept && len(w.problems) < mostProblems {
		w.problems = append(w.problems, fmt.Sprintf("cluster %s: pod %s %s", w.cluster, name, text))
	}
}

// result is how many pods were to be kept, and what has happened to them.
func (w *witness) result() (int, []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.kept), append([]string{}, w.problems...)
}

// trouble says what is wrong with a pod that should run.
func trouble(pod *corev1.Pod) string {
	for _, status := range pod.Status.ContainerStatuses {
		if status.RestartCount > 0 {
			return fmt.Sprintf("has restarted %d times", status.RestartCount)
		}
	}
	switch {
	case pod.DeletionTimestamp != nil:
		return "is being deleted"
	case pod.Status.Phase != corev1.PodRunning:
		return fmt.Sprintf("is %s: %s %s", pod.Status.Phase, pod.Status.Reason, pod.Status.Message)
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status != corev1.ConditionTrue {
			return fmt.Sprintf("is not Ready: %s %s", condition.Reason, condition.Message)
		}
		if condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue {
			return "is to be evicted: " + condition.Message
		}
	}
	return ""
}

// readyPod reports whether a pod is as the owner wants it.
func readyPod(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue && trouble(pod) == ""
		}
	}
	return false
}
