package v1alpha1

// PodAdmissionName is the name of what prepares the pods of offloaded namespaces when they
// are created: a MutatingAdmissionPolicy with its binding, or a
// MutatingWebhookConfiguration.
const PodAdmissionName = "spillway-pods"

// Of the webhook, in the manager's namespace.
const (
	// WebhookService is the name of the Service at which API servers reach it.
	WebhookService = "spillway-webhook"
	// WebhookSecret is the name of the Secret with its certificate and the authority of that.
	WebhookSecret = "spillway-webhook"
)

// Reasons of BindingPodAdmission.
const (
	// ReasonPolicyServed: the API server serves MutatingAdmissionPolicy as v1.
	ReasonPolicyServed = "PolicyServed"
	// ReasonPolicyNotServed: it does not, as before Kubernetes 1.36, and the webhook is off.
	// Pods of offloaded namespaces get no affinity, and a toleration only once they wait
	// for a node.
	ReasonPolicyNotServed = "PolicyNotServed"
	// ReasonWebhookServed: the manager serves the webhook.
	ReasonWebhookServed = "WebhookServed"
	// ReasonWebhookNotConfigured: the MutatingWebhookConfiguration is missing, or does not
	// have the authority of the webhook's certificate yet, so that the API server does not
	// call the webhook. What follows from that is as with ReasonPolicyNotServed.
	ReasonWebhookNotConfigured = "WebhookNotConfigured"
	// ReasonWebhookCertificate: the webhook has no certificate, or one that has expired.
	ReasonWebhookCertificate = "WebhookCertificate"
)
