package clusterbinding

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// until returns a certificate that is valid until then.
func until(t *testing.T, then time.Time) []byte {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: then.Add(-time.Hour), NotAfter: then}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func calling(authorities ...string) *admissionregistrationv1.MutatingWebhookConfiguration {
	c := &admissionregistrationv1.MutatingWebhookConfiguration{}
	for _, authority := range authorities {
		c.Webhooks = append(c.Webhooks, admissionregistrationv1.MutatingWebhook{
			ClientConfig: admissionregistrationv1.WebhookClientConfig{CABundle: []byte(authority)}})
	}
	return c
}

func TestPodAdmission(t *testing.T) {
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	valid, expired := until(t, now.Add(time.Second)), until(t, now)
	for name, test := range map[string]struct {
		served          bool
		webhook         *Webhook
		reason, message string // The beginning of the message.
		left            time.Duration
	}{
		"the policy":                    {true, nil, v1alpha1.ReasonPolicyServed, "", 0},
		"no policy, no webhook":         {false, nil, v1alpha1.ReasonPolicyNotServed, "this cluster does not serve MutatingAdmissionPolicy", 0},
		"the webhook":                   {false, &Webhook{calling("ca"), valid}, v1alpha1.ReasonWebhookServed, "", time.Second},
		"the webhook, beside a policy":  {true, &Webhook{calling("ca"), valid}, v1alpha1.ReasonWebhookServed, "", time.Second},
		"no configuration":              {false, &Webhook{nil, valid}, v1alpha1.ReasonWebhookNotConfigured, "MutatingWebhookConfiguration spillway-pods is missing (apply dist/install-webhook.yaml)", time.Second},
		"no authority in it":            {false, &Webhook{calling(""), valid}, v1alpha1.ReasonWebhookNotConfigured, "MutatingWebhookConfiguration spillway-pods has no caBundle", time.Second},
		"no authority in one of two":    {false, &Webhook{calling("ca", ""), valid}, v1alpha1.ReasonWebhookNotConfigured, "MutatingWebhookConfiguration spillway-pods has no caBundle", time.Second},
		"no certificate":                {false, &Webhook{calling("ca"), nil}, v1alpha1.ReasonWebhookCertificate, "Secret spillway-webhook in the manager's namespace (dist/install-webhook.yaml) has no certificate yet", 0},
		"something else in place of it": {false, &Webhook{calling("ca"), []byte("x")}, v1alpha1.ReasonWebhookCertificate, "tls.crt of Secret spillway-webhook in the manager's namespace is not a certificate", 0},
		"it has expired": {false, &Webhook{calling("ca"), expired}, v1alpha1.ReasonWebhookCertificate,
			"the certificate in Secret spillway-webhook in the manager's namespace expired at 2026-11-25T12:00:00Z", 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := podAdmission(snapshot{PolicyServed: test.served, Webhook: test.webhook, Now: now})
			good := test.reason == v1alpha1.ReasonPolicyServed || test.reason == v1alpha1.ReasonWebhookServed
			if got.Reason != test.reason || (got.Status == metav1.ConditionTrue) != good || !strings.HasPrefix(got.Message, test.message) ||
				good != !strings.HasSuffix(got.Message, ": "+unprepared) {
				t.Errorf("%s %s: %s", got.Status, got.Reason, got.Message)
			}
			if left := test.webhook.UntilExpired(now); left != test.left {
				t.Errorf("it expires in %s, want %s", left, test.left)
			}
		})
	}
}
