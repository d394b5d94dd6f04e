package unbind

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/decide/eviction"
	"github.com/spillway-io/spillway/internal/field"
	"github.com/spillway-io/spillway/internal/plugin/cli"
)

// WarnOfBudgets warns about PodDisruptionBudgets that currently allow none of these pods to be evicted. Users
// may lack the right to read them.
func WarnOfBudgets(ctx context.Context, consumer *cli.Cluster, output *cli.Output, pods []corev1.Pod, in ...client.ListOption) {
	budgets := &policyv1.PodDisruptionBudgetList{}
	err := consumer.List(ctx, budgets, in...)
	if err != nil && !apierrors.IsForbidden(err) {
		output.Warn("cannot tell which PodDisruptionBudgets block evictions: %v", err)
	}
	if kept := keeping(budgets.Items, pods); len(kept) > 0 {
		output.Warn("PodDisruptionBudgets that allow no eviction block this: %s", strings.Join(kept, "; "))
	}
}

// keeping returns the budgets that allow none of these pods to be evicted, each with its pods.
func keeping(budgets []policyv1.PodDisruptionBudget, pods []corev1.Pod) []string {
	var all []string
	for i := range budgets {
		budget := &budgets[i]
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil || budget.Status.DisruptionsAllowed > 0 {
			continue
		}
		var names []types.NamespacedName
		for j := range pods {
			if keeps(budget, selector, &pods[j]) {
				names = append(names, client.ObjectKeyFromObject(&pods[j]))
			}
		}
		if len(names) > 0 {
			all = append(all, budget.Namespace+"/"+budget.Name+" blocks "+eviction.Summarise(names, nil).String())
		}
	}
	slices.Sort(all)
	return all
}

// keeps reports whether a budget without disruptions keeps a pod, with the API server's rules. These allow
// the eviction of a pod that is not Ready if the budget says so, or has enough other pods.
func keeps(budget *policyv1.PodDisruptionBudget, selector labels.Selector, pod *corev1.Pod) bool {
	if pod.Namespace != budget.Namespace || pod.Status.Phase != corev1.PodRunning || !pod.DeletionTimestamp.IsZero() || !selector.Matches(labels.Set(pod.Labels)) {
		return false
	}
	policy, status := budget.Spec.UnhealthyPodEvictionPolicy, budget.Status
	return field.IsReady(pod) || (policy == nil || *policy != policyv1.AlwaysAllow) && (status.CurrentHealthy < status.DesiredHealthy || status.DesiredHealthy == 0)
}
