package clusterbinding

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// mostNotice is the longest time before expiry at which the manager warns.
const mostNotice = 7 * 24 * time.Hour

// partOfLifetime shortens the notice to a fifth of the credentials' lifetime. So the manager does not warn
// all day about a token that is valid for one day.
const partOfLifetime = 5

// brief is the longest lifetime of credentials that a program renews. Reporting each expiry time would cost a
// write for each renewal. So the manager reports it only once it is a problem.
const brief = 24 * time.Hour

// validity is when credentials can be used, as far as they say so.
type validity struct {
	// What expires, such as "the token".
	What string
	// From and Until are zero if unknown.
	From, Until time.Time
}

// lifetime returns how long the credentials are valid, or zero if that is unknown.
func (v validity) lifetime() time.Duration {
	if v.From.IsZero() || v.Until.IsZero() {
		return 0
	}
	return max(0, v.Until.Sub(v.From))
}

// Brief reports whether the credentials are valid for less than a day.
func (v validity) Brief() bool { return v.lifetime() > 0 && v.lifetime() < brief }

// RenewBy returns when to warn about the expiry, or zero if the credentials do not expire.
func (v validity) RenewBy() time.Time {
	if v.Until.IsZero() {
		return time.Time{}
	}
	notice := mostNotice
	if lifetime := v.lifetime(); lifetime > 0 {
		notice = min(notice, lifetime/partOfLifetime)
	}
	return v.Until.Add(-notice)
}

func credentialsValid(s snapshot) *metav1.Condition {
	switch {
	case s.Duplicate():
		return condition(v1alpha1.BindingCredentialsValid, metav1.ConditionUnknown, v1alpha1.ReasonDuplicateClusterID, "not checked")
	case s.Credentials != nil:
		return condition(v1alpha1.BindingCredentialsValid, metav1.ConditionFalse, s.Credentials.Reason, s.Credentials.Message)
	case s.Connection.CredentialsRefused():
		return condition(v1alpha1.BindingCredentialsValid, metav1.ConditionFalse, s.Connection.Reason, s.Connection.Message)
	case renewing(s):
		return nil
	case s.Connection.Phase == connection.Connected, s.Connection.Phase == connection.Disconnected && isFence(s.Connection.Reason):
		return acceptedUntil(s)
	default:
		return unlessDecided(s, v1alpha1.BindingCredentialsValid, "unknown until the provider answers", standing(s)...)
	}
}

// renewing reports whether the manager is trying a new token at the provider while it is still connected with
// the previous one.
func renewing(s snapshot) bool {
	return s.Connection.Phase == connection.Connected && s.Connection.Untried
}

// standing returns the verdicts on the credentials that stay while the provider does not answer. New
// credentials, or new content of the Secret, have no earlier verdict. A refusal does not stay once something
// else is wrong, because it would hide that.
func standing(s snapshot) []string {
	switch {
	case s.Connection.Untried:
		return nil
	case s.Connection.Phase == connection.Disconnected:
		return []string{v1alpha1.ReasonAccepted, v1alpha1.ReasonExpiresSoon}
	default:
		return []string{v1alpha1.ReasonAccepted, v1alpha1.ReasonExpiresSoon, v1alpha1.ReasonUnauthorized, v1alpha1.ReasonForbidden}
	}
}

// refusedBefore reports whether the last verdict is that the provider refused the credentials. A verdict on
// the Secret's content ends when the content changes.
func refusedBefore(s snapshot) bool {
	reason := conditions.Reason(s.Binding.Status.Conditions, v1alpha1.BindingCredentialsValid)
	return conditions.Reason(s.Binding.Status.Conditions, v1alpha1.BindingConnected) == v1alpha1.ReasonCredentialsInvalid &&
		(reason == v1alpha1.ReasonUnauthorized || reason == v1alpha1.ReasonForbidden)
}

// acceptedUntil returns the condition of credentials that the provider accepts.
func acceptedUntil(s snapshot) *metav1.Condition {
	v := s.Validity
	reason, message := v1alpha1.ReasonAccepted, ""
	switch at := fmt.Sprintf("%s expires at %s", v.What, v.Until.UTC().Format(time.RFC3339)); {
	case v.Until.IsZero():
	case soon(s):
		reason = v1alpha1.ReasonExpiresSoon
		message = at + fmt.Sprintf("; update Secret %s before then", s.Binding.Spec.KubeconfigSecretRef.Name)
	case v.Brief():
		message = v.What + " is valid for less than a day: its expiry is shown only if it is not replaced in time"
	default:
		message = at
	}
	return condition(v1alpha1.BindingCredentialsValid, metav1.ConditionTrue, reason, message)
}

// soon reports whether it is time to warn about the expiry.
func soon(s snapshot) bool {
	return !s.Validity.Until.IsZero() && !s.Now.Before(s.Validity.RenewBy())
}

// expirationTime returns the expiry time for the status, or nil if the Secret does not say it.
func expirationTime(s snapshot) *metav1.Time {
	v := s.Validity
	switch {
	case renewing(s):
		return s.Binding.Status.CredentialsExpirationTime
	case v.Until.IsZero(), v.Brief() && !soon(s):
		return nil
	}
	at := metav1.NewTime(v.Until.UTC().Truncate(time.Second))
	return &at
}
