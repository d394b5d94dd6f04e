package eviction

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spillway-io/spillway/internal/decide/eviction"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list

const (
	// remembered is how long the unhealthy pods of a namespace are taken for what they were.
	// Each of its pods is tried that often.
	remembered = mostRetry
	// mostListed bounds an answer. Where a namespace has more, perhaps not all are named.
	mostListed = 500
	// listTimeout limits one request.
	listTimeout = 10 * time.Second
)

// Unhealthy finds the pods that keep a budget from letting others go. Those may be on any
// node, or on none, so no cache has them. A cache of them would be one of all pods.
type Unhealthy struct {
	Kubernetes kubernetes.Interface
	Clock      clock.PassiveClock

	// mu is held while the API server is asked, so that it gets no more than one of these
	// requests at a time.
	mu   sync.Mutex
	seen map[string]seen // By namespace.
}

type seen struct {
	budgets []eviction.Budget
	until   time.Time
}

// Of names the unhealthy pods of the budget that holds a pod; "" if there are none, or they
// are not known.
func (u *Unhealthy) Of(ctx context.Context, pod *corev1.Pod) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := u.Clock.Now()
	maps.DeleteFunc(u.seen, func(_ string, s seen) bool { return !now.Before(s.until) })
	found, ok := u.seen[pod.Namespace]
	if !ok {
		budgets, err := u.read(ctx, pod.Namespace)
		if err != nil {
			// The refusal itself says enough to go on.
			ctrl.LoggerFrom(ctx).Info("which pods a budget waits for is not known", "namespace", pod.Namespace, "error", err.Error())
		}
		if u.seen == nil {
			u.seen = map[string]seen{}
		}
		found = seen{budgets, now.Add(remembered)}
		u.seen[pod.Namespace] = found
	}
	return eviction.Unhealthy(pod, found.budgets)
}

// read asks the API server. Pods that have ended are none of a budget's business.
func (u *Unhealthy) read(ctx context.Context, namespace string) ([]eviction.Budget, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	budgets, err1 := u.Kubernetes.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{Limit: mostListed})
	pods, err2 := u.Kubernetes.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{Limit: mostListed, FieldSelector: "status.phase!=Succeeded,status.phase!=Failed"})
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("listing the budgets and pods of namespace %s: %w", namespace, err)
	}
	return eviction.Budgets(budgets.Items, pods.Items), nil
}
