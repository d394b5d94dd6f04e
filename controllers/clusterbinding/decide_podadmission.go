package clusterbinding

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// Webhook is what the API server needs to call the webhook that prepares pods.
type Webhook struct {
	// Configuration is the MutatingWebhookConfiguration, or nil.
	Configuration *admissionregistrationv1.MutatingWebhookConfiguration
	// Certificate is the serving certificate, in PEM; empty if there is none.
	Certificate []byte
}

// unprepared says what happens to pods that admission does not change.
const unprepared = "pods of offloaded namespaces get no affinity, and a toleration only once they wait for a node"

func podAdmission(s snapshot) *metav1.Condition {
	if s.Webhook != nil {
		return webhook(s.Webhook, s.Now)
	}
	if s.PolicyServed {
		return condition(v1alpha1.BindingPodAdmission, metav1.ConditionTrue, v1alpha1.ReasonPolicyServed, "")
	}
	return condition(v1alpha1.BindingPodAdmission, metav1.ConditionFalse, v1alpha1.ReasonPolicyNotServed,
		"this cluster does not serve MutatingAdmissionPolicy as admissionregistration.k8s.io/v1 (Kubernetes 1.36), and the webhook is off (--pod-admission): "+unprepared)
}

func webhook(w *Webhook, now time.Time) *metav1.Condition {
	not := func(reason, format string, args ...any) *metav1.Condition {
		return condition(v1alpha1.BindingPodAdmission, metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)+": "+unprepared)
	}
	if w.Configuration == nil {
		return not(v1alpha1.ReasonWebhookNotConfigured, "MutatingWebhookConfiguration %s is missing (apply dist/install-webhook.yaml)", v1alpha1.PodAdmissionName)
	}
	if len(w.Certificate) == 0 {
		return not(v1alpha1.ReasonWebhookCertificate, "Secret %s in the manager's namespace (dist/install-webhook.yaml) has no certificate yet", v1alpha1.WebhookSecret)
	}
	if expiry, ok := expiryOf(w.Certificate); !ok {
		return not(v1alpha1.ReasonWebhookCertificate, "tls.crt of Secret %s in the manager's namespace is not a certificate", v1alpha1.WebhookSecret)
	} else if !now.Before(expiry) {
		return not(v1alpha1.ReasonWebhookCertificate, "the certificate in Secret %s in the manager's namespace expired at %s", v1alpha1.WebhookSecret, expiry.UTC().Format(time.RFC3339))
	}
	if slices.ContainsFunc(w.Configuration.Webhooks, func(h admissionregistrationv1.MutatingWebhook) bool { return len(h.ClientConfig.CABundle) == 0 }) {
		return not(v1alpha1.ReasonWebhookNotConfigured, "MutatingWebhookConfiguration %s has no caBundle for the certificate yet", v1alpha1.PodAdmissionName)
	}
	return condition(v1alpha1.BindingPodAdmission, metav1.ConditionTrue, v1alpha1.ReasonWebhookServed, "")
}

// UntilExpired returns how long the certificate is still valid; 0 if it has expired or is unknown.
func (w *Webhook) UntilExpired(now time.Time) time.Duration {
	if w == nil {
		return 0
	}
	expiry, _ := expiryOf(w.Certificate)
	return max(0, expiry.Sub(now))
}

// expiryOf returns when the first certificate expires.
func expiryOf(certificate []byte) (time.Time, bool) {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return time.Time{}, false
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return time.Time{}, false
	}
	return parsed.NotAfter, true
}
