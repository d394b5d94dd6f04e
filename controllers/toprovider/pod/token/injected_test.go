package token

import (
	"strings"
	"testing"

	"github.com/spillway-io/spillway/internal/field/fieldtest"
)

func TestWithheld(t *testing.T) {
	const injected = `volumes: [{name: kube-api-access-x, projected: {sources: [{serviceAccountToken: {path: t}}]}}]`
	for name, test := range map[string]struct{ spec, want string }{
		"as most pods are":            {`serviceAccountName: default, ` + injected, ""},
		"without a name":              {injected, ""},
		"an account of its own":       {`serviceAccountName: controller, ` + injected, "the token of ServiceAccount controller"},
		"it asks for the token":       {`automountServiceAccountToken: true, ` + injected, "the token of ServiceAccount default"},
		"its account gives it none":   {`serviceAccountName: controller`, ""},
		"it wants none":               {`serviceAccountName: controller, automountServiceAccountToken: false`, ""},
		"something else is projected": {`serviceAccountName: controller, volumes: [{name: v, projected: {sources: [{secret: {name: s}}]}}]`, ""},
	} {
		got := Withheld(fieldtest.PodOf(t, `{spec: {`+test.spec+`}}`))
		if (got != "") != (test.want != "") || !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
