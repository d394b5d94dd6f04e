package v1alpha1

// PodAdmissionName is the name of the MutatingAdmissionPolicy and its binding, or of the
// MutatingWebhookConfiguration, that prepares the pods of offloaded namespaces when they are
// created.
const PodAdmissionName = "spillway-pods"

// Objects of the webhook, in the manager's namespace.
const (
	// WebhookService is the name of the Service through which API servers reach the webhook.
	WebhookService = "spillway-webhook"
	// WebhookSecret is the name of the Secret with the webhook's certificate and the authority that
	// signed it.
	WebhookSecret = "spillway-webhook"
)

// Reasons of BindingPodAdmission.
const (
	// ReasonPolicyServed: the API server serves MutatingAdmissionPolicy as v1.
	ReasonPolicyServed = "PolicyServed"
	// ReasonPolicyNotServed: the API server does not serve MutatingAdmissionPolicy as v1, because
	// it is older than Kubernetes 1.36, and the webhook is off. Pods of offloaded namespaces get no
	// affinity. They get a toleration only once they wait for a node.
	ReasonPolicyNotServed = "PolicyNotServed"
	// ReasonWebhookServed: the manager serves the webhook.
	ReasonWebhookServed = "WebhookServed"
	// ReasonWebhookNotConfigured: the MutatingWebhookConfiguration is missing, or does not have the
	// authority of the webhook's certificate yet. So the API server does not call the webhook, with
	// the same effect as ReasonPolicyNotServed.
	ReasonWebhookNotConfigured = "WebhookNotConfigured"
	// ReasonWebhookCertificate: the webhook has no certificate, or an expired one.
	ReasonWebhookCertificate = "WebhookCertificate"
)
