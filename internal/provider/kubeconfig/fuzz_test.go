package kubeconfig

import (
	"crypto/tls"
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// FuzzLoad checks, for any document, that Load returns an error that is safe to show, or
// a rest.Config that is safe to use.
func FuzzLoad(f *testing.F) {
	f.Add([]byte(document(f, "", "")))
	for _, r := range refusals() {
		if text := document(f, r.old, r.new); len(text) <= MaxSize {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := Load(data)
		if err != nil {
			expectSafeError(t, err)
			return
		}
		expectSafeConfig(t, config)
	})
}

// expectSafeError checks that err is typed, says what is wrong, and shows no secret.
func expectSafeError(t *testing.T, err error) {
	var e *Error
	if !errors.As(err, &e) || errors.Unwrap(e) != nil {
		t.Fatalf("got a %T: %v", err, err)
	}
	if e.Reason != v1alpha1.ReasonInvalidKubeconfig && e.Reason != v1alpha1.ReasonForbiddenField {
		t.Errorf("unknown reason %q", e.Reason)
	}
	if e.Message == "" || (e.Field == "" && e.Reason == v1alpha1.ReasonForbiddenField) {
		t.Errorf("the error says too little: %#v", e)
	}
	expectNoSecret(t, err)
}

// expectSafeConfig rebuilds the rest.Config by hand from the allowed fields, so that any
// other field shows as a difference.
func expectSafeConfig(t *testing.T, got *rest.Config) {
	want := &rest.Config{
		Host:        got.Host,
		BearerToken: got.BearerToken,
		TLSClientConfig: rest.TLSClientConfig{
			ServerName: got.ServerName, CAData: got.CAData, CertData: got.CertData, KeyData: got.KeyData,
		},
		QPS: -1, WarningHandler: rest.NoWarnings{},
	}
	if !reflect.DeepEqual(want, got) {
		t.Errorf("more is set than is allowed: %s", cmp.Diff(want, got))
	}
	u, err := url.Parse(got.Host)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsAny(got.Host, "?#") {
		t.Errorf("host %q is not an https URL without extras (%v)", got.Host, err)
	}
	if base, _, err := rest.DefaultServerUrlFor(got); err != nil || base.Host != u.Host || base.Scheme != "https" {
		t.Errorf("client-go reads the host %q as %v (%v)", got.Host, base, err)
	}
	if strings.ContainsAny(got.BearerToken, "\r\n\x00 ") {
		t.Error("the token has white space in it")
	}
	if tlsConfig, err := rest.TLSConfigFor(got); err != nil || tlsConfig.RootCAs == nil || tlsConfig.InsecureSkipVerify {
		t.Errorf("the TLS configuration is not usable: %v", err)
	}
	expectCredentials(t, got)
}

func expectCredentials(t *testing.T, got *rest.Config) {
	if len(got.CertData) == 0 && len(got.KeyData) == 0 {
		if got.BearerToken == "" {
			t.Error("no credentials")
		}
		return
	}
	if _, err := tls.X509KeyPair(got.CertData, got.KeyData); err != nil {
		t.Errorf("the client certificate is not usable: %v", err)
	}
}
