package podtoken

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

const canary = "eyJhbGciOiJSUzI1NiJ9.canary.signature"

func TestRefusals(t *testing.T) {
	accounts, secrets := schema.GroupResource{Resource: "serviceaccounts"}, schema.GroupResource{Resource: "secrets"}
	unreadable := fmt.Errorf("Object 'Kind' is missing in '{\"token\":%q}'", canary)
	for name, test := range map[string]struct {
		provider bool
		err      error
		reason   string
	}{
		"no right":                {false, apierrors.NewForbidden(accounts, "web", errors.New("no")), v1alpha1.ReasonTokenForbidden},
		"no account":              {false, apierrors.NewNotFound(accounts, "web"), v1alpha1.ReasonServiceAccountNotFound},
		"refused":                 {false, apierrors.NewBadRequest("no"), v1alpha1.ReasonTokenRefused},
		"an answer without sense": {false, unreadable, v1alpha1.ReasonTokenRefused},
		"a webhook in the provider": {true, apierrors.NewForbidden(secrets, "s", fmt.Errorf("it says %s and %s",
			canary, base64.StdEncoding.EncodeToString([]byte(canary)))), v1alpha1.ReasonRejected},
		"a long message of it":  {true, apierrors.NewForbidden(secrets, "s", errors.New(strings.Repeat("x", mostMessage-70)+canary)), v1alpha1.ReasonRejected},
		"the provider's answer": {true, unreadable, v1alpha1.ReasonRejected},
		"another Secret there":  {true, apierrors.NewAlreadyExists(secrets, "s"), v1alpha1.ReasonNameConflict},
	} {
		t.Run(name, func(t *testing.T) {
			got := refusalOf(podOf("1", ""), test.err)
			if test.provider {
				got = problemOf(plan{In: "home"}, "eu", test.err, []string{canary})
			}
			if got.Reason != test.reason || got.Message == "" {
				t.Errorf("got %v, want %s", got, test.reason)
			}
			for _, part := range []string{"canary", "eyJ", base64.StdEncoding.EncodeToString([]byte(canary))[:12]} {
				if strings.Contains(got.Message, part) {
					t.Errorf("a part of a token is shown: %s", got.Message)
				}
			}
		})
	}
}
