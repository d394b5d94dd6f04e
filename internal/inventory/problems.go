package inventory

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field/provenance"
)

// problems has who follows the problems of pods.
type problems struct {
	guard    sync.Mutex
	handlers []func(binding string, pod *corev1.Pod)
}

func (p *problems) notify(binding string, pod *corev1.Pod) {
	p.guard.Lock()
	handlers := p.handlers // The list only grows.
	p.guard.Unlock()
	for _, handle := range handlers {
		handle(binding, pod)
	}
}

// ProblemSource is a source for a controller. It enqueues the requests for each pod that is not new, and that was sent, has
// begun to run, or requests something else, or whose condition PodOffloaded says something else. Most pods never have that condition.
func ProblemSource[R comparable](r *Inventory, requests func(ctx context.Context, binding string, pod *corev1.Pod) []R) source.TypedSource[R] {
	return source.TypedFunc[R](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[R]) error {
		r.problems.guard.Lock()
		defer r.problems.guard.Unlock()
		r.problems.handlers = append(r.problems.handlers, func(binding string, pod *corev1.Pod) {
			for _, request := range requests(ctx, binding, pod) {
				queue.Add(request)
			}
		})
		return nil
	})
}

// problemOf returns what the condition PodOffloaded says, whether the pod runs, as which remote pod, and with which spec.
func problemOf(pod *corev1.Pod) (problem struct {
	status, reason, message, remote string
	runs                            bool
	generation                      int64
},
) {
	problem.runs, problem.generation, problem.remote = pod.Status.Phase == corev1.PodRunning, pod.Generation, string(provenance.RemoteOf(pod).UID)
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1alpha1.PodOffloaded {
			problem.status, problem.reason, problem.message = string(c.Status), c.Reason, c.Message
		}
	}
	return problem
}
