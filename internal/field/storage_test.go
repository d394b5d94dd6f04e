package field_test

import (
	"testing"

	"github.com/spillway-io/spillway/internal/field"
)

// TestSecretAttribute: some drivers read the Secret that an attribute names.
func TestSecretAttribute(t *testing.T) {
	for want, attributes := range map[string]map[string]string{
		"":                 {"share": "a", "secret": "b", "name": "c", "nameOfSecret": "d"},
		"secretName":       {"share": "a", "secretName": "s"},
		"SECRET-user-NAME": {"SECRET-user-NAME": "s"},
		"a-secret-name":    {"b-secret-name": "s", "a-secret-name": "s"},
	} {
		if got := field.SecretAttribute(attributes); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
