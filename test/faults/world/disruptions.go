package world

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/spillway-io/spillway/controllers/toprovider/poddisruptionbudget"
	"github.com/spillway-io/spillway/test/performance/rig"
)

// disruptions plays the disruption controller for budgets whose minAvailable is a number. It writes into
// their status how many healthy pods they want, and how many there are.
func disruptions(mgr ctrl.Manager, c *rig.Cluster) error {
	counted := act[*policyv1.PodDisruptionBudget](func(ctx context.Context, budget *policyv1.PodDisruptionBudget) error {
		return count(ctx, mgr.GetClient(), c.Admin, budget)
	})
	return ctrl.NewControllerManagedBy(mgr).Named("disruptions").For(&policyv1.PodDisruptionBudget{}).WithOptions(options()).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, pod client.Object) []reconcile.Request {
			var budgets policyv1.PodDisruptionBudgetList
			_ = mgr.GetClient().List(ctx, &budgets, client.InNamespace(pod.GetNamespace())) // It reads the cache.
			var requests []reconcile.Request
			for i := range budgets.Items {
				requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&budgets.Items[i])})
			}
			return requests
		})).
		Complete(reconcile.AsReconciler(mgr.GetClient(), counted))
}

// count updates the status of a budget if it differs.
func count(ctx context.Context, cached client.Reader, admin client.Client, budget *policyv1.PodDisruptionBudget) error {
	var pods corev1.PodList
	if err := cached.List(ctx, &pods, client.InNamespace(budget.Namespace)); err != nil || budget.Spec.MinAvailable == nil {
		return err
	}
	healthy := int32(0)
	for i := range pods.Items {
		if poddisruptionbudget.IsHealthy(budget)(&pods.Items[i]) {
			healthy++
		}
	}
	status, wants := &budget.Status, budget.Spec.MinAvailable.IntVal
	if status.ObservedGeneration == budget.Generation && status.DesiredHealthy == wants && status.CurrentHealthy == healthy {
		return nil
	}
	status.ObservedGeneration, status.DesiredHealthy, status.CurrentHealthy = budget.Generation, wants, healthy
	return admin.Status().Update(ctx, budget)
}
