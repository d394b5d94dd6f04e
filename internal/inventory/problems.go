package inventory

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/spillway-io/spillway/api/v1alpha1"
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

// ProblemSource is a source for a controller. It enqueues the requests for each pod that is not new, and that has begun to
// run, or whose condition PodOffloaded says something else. Most pods never have that condition.
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

// problemOf returns what the condition PodOffloaded says, and whether the pod runs.
func problemOf(pod *corev1.Pod) (problem struct {
	status, reason, message string
	runs                    bool
},
) {
	problem.runs = pod.Status.Phase == corev1.PodRunning
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == v1alpha1.PodOffloaded {
			problem.status, problem.reason, problem.message = string(c.Status), c.Reason, c.Message
		}
	}
	return problem
}
