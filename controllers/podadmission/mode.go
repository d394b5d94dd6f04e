// Package podadmission has pods of offloaded namespaces prepared when they are created.
// A policy in the API server does it where it can (config/policy/pods.yaml, from
// Kubernetes 1.36 on). Elsewhere a webhook does, which this package serves, in each
// replica of the manager (config/webhook; docs/adr/0010-pod-admission-without-a-webhook.md).
//
// Both decide the same, and both leave the pod unchanged when they fail. The webhook decides from the
// manager's cache of NamespaceOffloadings, and sends no request.
//
// Three controllers do the rest. Unscheduled prepares pods that are older than their offloading. Strayed reports
// pods that the webhook has missed. WebhookRemoval deletes the webhook's configuration where the policy works.
package podadmission

import (
	"context"
	"fmt"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Mode says what prepares pods.
type Mode string

const (
	// Policy leaves it to the policy, if the API server serves it. The webhook is off.
	Policy Mode = "Policy"
	// Webhook serves the webhook, whatever the API server serves.
	Webhook Mode = "Webhook"
	// Auto uses the policy if the API server serves it and it is installed, and deletes the configuration of
	// the webhook. Otherwise it serves the webhook.
	Auto Mode = "Auto"
)

// Validate returns what is wrong with the mode.
func (m Mode) Validate() error {
	if !slices.Contains([]Mode{Policy, Webhook, Auto}, m) {
		return fmt.Errorf("--pod-admission must be %s, %s or %s, and is %q", Policy, Webhook, Auto, m)
	}
	return nil
}

// Choice is what prepares pods on a certain consumer, as long as the manager runs.
type Choice struct {
	// PolicyServed reports whether the API server serves MutatingAdmissionPolicy as v1.
	PolicyServed bool
	// Webhook reports whether the webhook is served.
	Webhook bool
	// Remove reports whether the configuration of the webhook is deleted.
	Remove bool
}

// Choose asks the consumer, and decides.
func Choose(ctx context.Context, mode Mode, consumer kubernetes.Interface) (Choice, error) {
	served, err := policyServed(consumer)
	if err != nil || mode == Policy || mode == "" {
		return Choice{PolicyServed: served}, err
	}
	if mode == Webhook || !served {
		return Choice{PolicyServed: served, Webhook: true}, nil
	}
	installed, err := policyInstalled(ctx, consumer)
	return Choice{PolicyServed: served, Webhook: !installed, Remove: installed}, err
}

func policyServed(consumer kubernetes.Interface) (bool, error) {
	resources, err := consumer.Discovery().ServerResourcesForGroupVersion(admissionregistrationv1.SchemeGroupVersion.String())
	if err != nil {
		return false, fmt.Errorf("asking the consumer which admission policies it serves: %w", err)
	}
	return slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == "mutatingadmissionpolicies" }), nil
}

// policyInstalled reports whether both the policy and its binding exist.
func policyInstalled(ctx context.Context, consumer kubernetes.Interface) (bool, error) {
	of := consumer.AdmissionregistrationV1()
	_, err := of.MutatingAdmissionPolicies().Get(ctx, v1alpha1.PodAdmissionName, metav1.GetOptions{})
	if err == nil {
		_, err = of.MutatingAdmissionPolicyBindings().Get(ctx, v1alpha1.PodAdmissionName, metav1.GetOptions{})
	}
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("asking the consumer for MutatingAdmissionPolicy %s and its binding: %w", v1alpha1.PodAdmissionName, err)
	}
	return true, nil
}
