package podadmission

import (
	"context"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/precondition"
	"github.com/spillway-io/spillway/internal/retry"
)

// WebhookRemoval deletes the configuration of the webhook, if a policy prepares pods instead. Otherwise the API
// server would keep calling a webhook that nobody serves.
type WebhookRemoval struct{ Client client.Client }

// Reconcile deletes the MutatingWebhookConfiguration.
func (r *WebhookRemoval) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	configuration := &admissionregistrationv1.MutatingWebhookConfiguration{}
	if err := r.Client.Get(ctx, req.NamespacedName, configuration); err != nil || req.Name != v1alpha1.PodAdmissionName {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !configuration.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	if err := r.Client.Delete(ctx, configuration, precondition.Exactly(configuration)); client.IgnoreNotFound(err) != nil {
		return retry.Done(fmt.Errorf("deleting MutatingWebhookConfiguration %s, which the policy replaces: %w", req.Name, err))
	}
	return ctrl.Result{}, nil
}

// SetupWithManager adds the controller to the manager, whose cache holds only that one.
func (r *WebhookRemoval) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("webhookremoval").For(&admissionregistrationv1.MutatingWebhookConfiguration{}).Complete(r)
}
