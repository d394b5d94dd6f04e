package podtoken

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/field"
)

const canary = "eyJhbGciOiJSUzI1NiJ9.canary.signature"

func TestRefusals(t *testing.T) {
	accounts, pods, secrets := schema.GroupResource{Resource: "serviceaccounts"}, schema.GroupResource{Resource: "pods"}, schema.GroupResource{Resource: "secrets"}
	unreadable := fmt.Errorf("Object 'Kind' is missing in '{\"token\":%q}'", canary)
	quotes := apierrors.NewForbidden(secrets, "s", fmt.Errorf("it says %x, %s and %v", canary, canary, []byte(canary)))
	quota := apierrors.NewForbidden(secrets, "s", errors.New("exceeded quota"))
	for name, test := range map[string]struct {
		got          *field.Problem
		reason, says string
	}{
		"no right":                    {refusalOf(podOf("1", ""), apierrors.NewForbidden(accounts, "web", errors.New("no"))), v1alpha1.ReasonTokenForbidden, "bind the ClusterRole"},
		"no account":                  {refusalOf(podOf("1", ""), apierrors.NewNotFound(accounts, "web")), v1alpha1.ReasonServiceAccountNotFound, "ServiceAccount default does not exist"},
		"no pod":                      {refusalOf(podOf("1", ""), apierrors.NewNotFound(pods, "web")), v1alpha1.ReasonTokenRefused, "the pod does not exist any more"},
		"another pod of that name":    {refusalOf(podOf("1", ""), apierrors.NewConflict(accounts, "web", errors.New("UID"))), v1alpha1.ReasonTokenRefused, "the pod does not exist any more"},
		"refused":                     {refusalOf(podOf("1", ""), apierrors.NewBadRequest("no")), v1alpha1.ReasonTokenRefused, "refuses a token of ServiceAccount default: no"},
		"an answer without sense":     {refusalOf(podOf("1", ""), unreadable), v1alpha1.ReasonTokenRefused, "did not answer"},
		"a webhook that quotes":       {problemOf(plan{In: "home"}, "eu", quotes, nil), v1alpha1.ReasonRejected, "HTTP status 403; what it says is not repeated"},
		"without tokens, another end": {problemOf(plan{In: "home"}, "eu", quotes, unreadable), v1alpha1.ReasonRejected, "HTTP status 403; what it says is not repeated"},
		"a quota":                     {problemOf(plan{In: "home"}, "eu", quotes, quota), v1alpha1.ReasonRejected, "exceeded quota"},
		"the provider's answer":       {problemOf(plan{In: "home"}, "eu", unreadable, nil), v1alpha1.ReasonRejected, "it did not answer"},
		"another Secret there":        {problemOf(plan{In: "home"}, "eu", apierrors.NewAlreadyExists(secrets, "s"), apierrors.NewAlreadyExists(secrets, "s")), v1alpha1.ReasonNameConflict, "already exists"},
	} {
		t.Run(name, func(t *testing.T) {
			if test.got.Reason != test.reason || !strings.Contains(test.got.Message, test.says) {
				t.Errorf("got %v, want %s: %s", test.got, test.reason, test.says)
			}
			for _, part := range []string{"canary", "eyJ", fmt.Sprintf("%x", canary)[:12], "101 121 74"} {
				if strings.Contains(test.got.Message, part) {
					t.Errorf("a part of a token is shown: %s", test.got.Message)
				}
			}
		})
	}
}

// TestLastsUntil: a clock that is wrong makes a token neither last longer than requested, nor expire at once.
func TestLastsUntil(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct{ said, want time.Duration }{
		"as requested":                 {10 * time.Minute, 10 * time.Minute},
		"a bit shorter":                {9 * time.Minute, 9 * time.Minute},
		"the manager's clock is late":  {15 * time.Minute, 10 * time.Minute},
		"the manager's clock is early": {time.Minute, 10 * time.Minute},
		"by more than the life":        {-time.Hour, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lastsUntil(now.Add(test.said), now, 10*time.Minute).Sub(now); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}
