package consumer

import (
	"context"
	"strings"
	"testing"
)

func TestRestored(t *testing.T) {
	seen := func(method, name, version string) answer {
		return answer{method, "/apis/coordination.k8s.io/v1/namespaces/n/leases/" + name, 200,
			`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"` + name + `","resourceVersion":"` + version + `"}}`}
	}
	failed := seen("PUT", "eu", "3")
	failed.code = 409
	for name, test := range map[string]struct {
		answers []answer
		want    string
	}{
		"renewed":                      {[]answer{seen("PUT", "eu", "9"), seen("GET", "eu", "12"), seen("PUT", "eu", "12")}, ""},
		"two of them, one after other": {[]answer{seen("PUT", "eu", "9"), seen("PUT", "us", "11"), seen("PUT", "eu", "10"), seen("PUT", "us", "12")}, ""},
		"not carried out":              {[]answer{seen("PUT", "eu", "9"), failed}, ""},
		"restored, seen by a standby":  {[]answer{seen("GET", "eu", "120"), seen("GET", "us", "121"), seen("GET", "eu", "99")}, "Lease eu went back from 120 to 99"},
		"restored, and renewed":        {[]answer{seen("PUT", "eu", "120"), seen("PUT", "eu", "99"), seen("PUT", "eu", "98")}, "Lease eu went back from 120 to 99"},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRestoreDetector()
			given(t, r.Wrap, test.answers...)
			ctx, cancel := context.WithCancel(t.Context())
			if test.want == "" {
				cancel() // Otherwise it would not return.
			}
			defer cancel()
			if err := r.Start(ctx); (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}
