package kubeconfig

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func jwt(payload string) string {
	return "e30." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".c2ln"
}

func TestTokenExpiry(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	tests := map[string]struct {
		token string
		want  time.Time
	}{
		"service account token": {jwt(`{"aud":["a"],"exp":1767323045,"kubernetes.io":{"pod":{}}}`), at},
		"fraction":              {jwt(`{"exp":1767323045.9}`), at},
		"epoch":                 {jwt(`{"exp":0}`), time.Unix(0, 0).UTC()},
		"no expiry":             {jwt(`{"aud":["a"]}`), time.Time{}},
		"null":                  {jwt(`{"exp":null}`), time.Time{}},
		"negative":              {jwt(`{"exp":-1}`), time.Time{}},
		"after the year 9999":   {jwt(`{"exp":253402300800}`), time.Time{}},
		"huge":                  {jwt(`{"exp":1e300}`), time.Time{}},
		"too huge":              {jwt(`{"exp":1e400}`), time.Time{}},
		"a string":              {jwt(`{"exp":"1767323045"}`), time.Time{}},
		"a list":                {jwt(`[1767323045]`), time.Time{}},
		"not JSON":              {jwt(`{`), time.Time{}},
		"not base64":            {"a.!.c", time.Time{}},
		"bootstrap token":       {"abcdef.0123456789abcdef", time.Time{}},
		"four parts":            {jwt(`{"exp":1767323045}`) + ".d", time.Time{}},
		"empty":                 {"", time.Time{}},
		"too large":             {jwt(`{"a":"` + strings.Repeat("a", maxTokenSize) + `","exp":1767323045}`), time.Time{}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := TokenExpiry(test.token)
			if !got.Equal(test.want) || ok == test.want.IsZero() {
				t.Errorf("got %v, %v, want %v", got, ok, test.want)
			}
		})
	}
}

func TestCertificateExpiry(t *testing.T) {
	tests := map[string]struct {
		pem  []byte
		want bool
	}{
		"certificate":    {client.cert, true},
		"after its key":  {append(append([]byte{}, client.key...), client.cert...), true},
		"key only":       {client.key, false},
		"garbage":        {[]byte(pemOf("CERTIFICATE", "garbage")), false},
		"no certificate": {nil, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, ok := CertificateExpiry(test.pem)
			if ok != test.want || (ok && !got.Equal(notAfter)) {
				t.Errorf("got %v, %v, want %v", got, ok, test.want)
			}
		})
	}
}

func FuzzTokenExpiry(f *testing.F) {
	f.Add(jwt(`{"exp":1767323045}`))
	f.Fuzz(func(t *testing.T, token string) {
		expiry, ok := TokenExpiry(token)
		if ok != !expiry.IsZero() || expiry.Year() > 9999 {
			t.Errorf("got %v, %v", expiry, ok)
		}
	})
}

func TestValidity(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cert, ok := CertificateExpiry(client.cert)
	if !ok {
		t.Fatal("the certificate of the tests cannot be read")
	}
	later := jwt(`{"exp":253402300799}`)
	tests := map[string]struct {
		config      rest.Config
		what        string
		from, until time.Time
	}{
		"a token":                   {rest.Config{BearerToken: jwt(`{"iat":1767236645,"exp":1767323045}`)}, "the token", at.Add(-24 * time.Hour), at},
		"a token of unknown age":    {rest.Config{BearerToken: jwt(`{"exp":1767323045}`)}, "the token", time.Time{}, at},
		"a token that says no more": {rest.Config{BearerToken: jwt(`{"iat":1767236645}`)}, "", time.Time{}, time.Time{}},
		"nothing":                   {rest.Config{}, "", time.Time{}, time.Time{}},
		"a certificate, and a token that lasts": {rest.Config{BearerToken: later, TLSClientConfig: rest.TLSClientConfig{CertData: client.cert}},
			"the client certificate", certificateFrom(t), cert},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			what, from, until := Validity(&test.config)
			if what != test.what || !from.Equal(test.from) || !until.Equal(test.until) {
				t.Errorf("got %q from %s until %s, want %q from %s until %s", what, from, until, test.what, test.from, test.until)
			}
		})
	}
}

func certificateFrom(t *testing.T) time.Time {
	t.Helper()
	cert, ok := leaf(client.cert)
	if !ok {
		t.Fatal("the certificate of the tests cannot be read")
	}
	return cert.NotBefore.UTC()
}
