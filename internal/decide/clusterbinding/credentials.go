package clusterbinding

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/connection"
)

// mostNotice is how long before credentials expire a warning is given, at most.
const mostNotice = 7 * 24 * time.Hour

// partOfLifetime: credentials that last shorter are warned about when a fifth of their
// lifetime is left. A token for a day is not warned about all day.
const partOfLifetime = 5

// Validity is when credentials can be used, as far as they say so.
type Validity struct {
	// What expires, such as "the token".
	What string
	// From and Until are zero where they are not known.
	From, Until time.Time
}

// RenewBy is when to warn that they expire; zero if they do not.
func (v Validity) RenewBy() time.Time {
	if v.Until.IsZero() {
		return time.Time{}
	}
	notice := mostNotice
	if lifetime := v.Until.Sub(v.From); !v.From.IsZero() && lifetime > 0 {
		notice = min(notice, lifetime/partOfLifetime)
	}
	return v.Until.Add(-notice)
}

func credentialsValid(s Snapshot) *metav1.Condition {
	switch {
	case s.Duplicate():
		return condition(v1alpha1.BindingCredentialsValid, metav1.ConditionUnknown, v1alpha1.ReasonDuplicateClusterID, "not looked at")
	case s.Credentials != nil:
		return condition(v1alpha1.BindingCredentialsValid, metav1.ConditionFalse, s.Credentials.Reason, s.Credentials.Message)
	case s.Connection.CredentialsRefused():
		return condition(v1alpha1.BindingCredentialsValid, metav1.ConditionFalse, s.Connection.Reason, s.Connection.Message)
	case s.Connection.Phase == connection.Connected, s.Connection.Phase == connection.Disconnected && isFence(s.Connection.Reason):
		return acceptedUntil(s)
	default:
		return unlessDecided(s, v1alpha1.BindingCredentialsValid, "not known before the provider answers", standing(s)...)
	}
}

// standing are the verdicts on the credentials that stay while the provider does not
// answer: none about other credentials, or about earlier content of the Secret. A
// refusal is no longer reported when something else is wrong, because it would hide
// that.
func standing(s Snapshot) []string {
	switch {
	case s.Connection.Untried:
		return nil
	case s.Connection.Phase == connection.Disconnected:
		return []string{v1alpha1.ReasonAccepted, v1alpha1.ReasonExpiresSoon}
	default:
		return []string{v1alpha1.ReasonAccepted, v1alpha1.ReasonExpiresSoon, v1alpha1.ReasonUnauthorized, v1alpha1.ReasonForbidden}
	}
}

// refusedBefore reports whether the last verdict is that the provider refused the
// credentials. A verdict on the Secret's content goes with that content.
func refusedBefore(s Snapshot) bool {
	reason := conditions.Reason(s.Binding.Status.Conditions, v1alpha1.BindingCredentialsValid)
	return conditions.Reason(s.Binding.Status.Conditions, v1alpha1.BindingConnected) == v1alpha1.ReasonCredentialsInvalid &&
		(reason == v1alpha1.ReasonUnauthorized || reason == v1alpha1.ReasonForbidden)
}

// acceptedUntil is the condition of credentials that the provider accepts.
func acceptedUntil(s Snapshot) *metav1.Condition {
	reason, message := v1alpha1.ReasonAccepted, ""
	if v := s.Validity; !v.Until.IsZero() {
		message = fmt.Sprintf("%s expires at %s", v.What, v.Until.UTC().Format(time.RFC3339))
		if !s.Now.Before(v.RenewBy()) {
			reason = v1alpha1.ReasonExpiresSoon
			message += fmt.Sprintf("; replace what is in Secret %s before", s.Binding.Spec.KubeconfigSecretRef.Name)
		}
	}
	return condition(v1alpha1.BindingCredentialsValid, metav1.ConditionTrue, reason, message)
}

// expirationTime is for the status. What the Secret does not say is unknown.
func expirationTime(v Validity) *metav1.Time {
	if v.Until.IsZero() {
		return nil
	}
	at := metav1.NewTime(v.Until.UTC().Truncate(time.Second))
	return &at
}
