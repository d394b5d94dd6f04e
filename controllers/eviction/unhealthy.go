package eviction

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/spillway-io/spillway/internal/decide/eviction"
)

// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list

const (
	// remembered is how long the unhealthy pods of a budget are assumed to be the same. Each pod that the
	// budget protects is retried that often.
	remembered = mostRetry
	// page is how many pods an answer has, and mostPages how many answers are requested. The pods are a team's,
	// complete, and up to 1.5 MB each. If a budget has more pods, some unhealthy ones may not count.
	page      = 10
	mostPages = 20
	// longestSelector is the most bytes of a selector in a URL.
	longestSelector = 4096
	// listTimeout limits all requests about one budget.
	listTimeout = 10 * time.Second
)

// Unhealthy finds the pods that make a budget protect others. They may be on any node, or on none, so
// no cache has them. A cache of them would hold all pods.
type Unhealthy struct {
	Kubernetes kubernetes.Interface
	Clock      clock.PassiveClock

	// reading is held during a request, so the API server gets only one of these requests at a time. Nobody
	// waits for it: the names are only a help.
	reading sync.Mutex
	mu      sync.Mutex
	seen    map[types.NamespacedName]seen // By budget.
}

type seen struct {
	unhealthy string
	at        time.Time
}

// Of names the unhealthy pods of a budget. It returns "" if there are none, or they are unknown. While another
// caller reads, it returns the earlier names, so that messages do not flip back and forth.
func (u *Unhealthy) Of(ctx context.Context, budget types.NamespacedName) string {
	known, fresh := u.known(budget)
	if fresh || !u.reading.TryLock() {
		return known
	}
	defer u.reading.Unlock()
	if known, fresh = u.known(budget); fresh {
		return known
	}
	unhealthy, err := u.read(ctx, budget)
	if err != nil {
		// The refusal itself says enough to go on.
		ctrl.LoggerFrom(ctx).Info("which pods a budget waits for is not known", "budget", budget, "error", err.Error())
	}
	u.note(budget, unhealthy)
	return unhealthy
}

func (u *Unhealthy) known(budget types.NamespacedName) (unhealthy string, fresh bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	found, ok := u.seen[budget]
	return found.unhealthy, ok && u.Clock.Since(found.at) < remembered
}

// note remembers what was read, however long that took, and forgets unused entries.
func (u *Unhealthy) note(budget types.NamespacedName, unhealthy string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	maps.DeleteFunc(u.seen, func(_ types.NamespacedName, s seen) bool { return u.Clock.Since(s.at) >= 3*remembered })
	if u.seen == nil {
		u.seen = map[types.NamespacedName]seen{}
	}
	u.seen[budget] = seen{unhealthy, u.Clock.Now()}
}

// read asks the API server. A budget does not count pods that have ended.
func (u *Unhealthy) read(ctx context.Context, name types.NamespacedName) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	selector, err := u.selector(ctx, name)
	if err != nil {
		return "", fmt.Errorf("reading PodDisruptionBudget %s: %w", name, err)
	}
	var unhealthy eviction.Unhealthy
	options := metav1.ListOptions{Limit: page, LabelSelector: selector, FieldSelector: "status.phase!=Succeeded,status.phase!=Failed"}
	for range mostPages {
		pods, err := u.Kubernetes.CoreV1().Pods(name.Namespace).List(ctx, options)
		if err != nil {
			return "", fmt.Errorf("listing the pods of PodDisruptionBudget %s: %w", name, err)
		}
		unhealthy.Add(pods.Items)
		if options.Continue = pods.Continue; options.Continue == "" {
			break
		}
	}
	return unhealthy.String(), nil
}

// selector returns the selector of a budget's pods. The manager may list budgets, but not get one.
func (u *Unhealthy) selector(ctx context.Context, name types.NamespacedName) (string, error) {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, name.Name).String()}
	budgets, err := u.Kubernetes.PolicyV1().PodDisruptionBudgets(name.Namespace).List(ctx, options)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(budgets.Items, func(b policyv1.PodDisruptionBudget) bool { return b.Name == name.Name })
	if i < 0 {
		return "", errors.New("it is gone")
	}
	selector, err := metav1.LabelSelectorAsSelector(budgets.Items[i].Spec.Selector)
	if err != nil {
		return "", err
	}
	if text := selector.String(); len(text) <= longestSelector {
		return text, nil
	}
	return "", errors.New("its selector is too long to list its pods")
}
