package clusterbinding

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// mostNotice is how long before credentials expire a warning is given, at most.
const mostNotice = 7 * 24 * time.Hour

// partOfLifetime: credentials that last shorter are warned about when a fifth of their
// lifetime is left. A token for a day is not warned about all day.
const partOfLifetime = 5

// brief is how long the credentials last, at most, that a program renews. Each renewal
// would be a write, so it is not told when they expire before that is a problem.
const brief = 24 * time.Hour

// Validity is when credentials can be used, as far as they say so.
type Validity struct {
	// What expires, such as "the token".
	What string
	// From and Until are zero where they are not known.
	From, Until time.Time
}

// lifetime is zero where it is not known.
func (v Validity) lifetime() time.Duration {
	if v.From.IsZero() || v.Until.IsZero() {
		return 0
	}
	return max(0, v.Until.Sub(v.From))
}

// Brief reports whether they last less than a day.
func (v Validity) Brief() bool { return v.lifetime() > 0 && v.lifetime() < brief }

// RenewBy is when to warn that they expire; zero if they do not.
func (v Validity) RenewBy() time.Time {
	if v.Until.IsZero() {
		return time.Time{}
	}
	notice := mostNotice
	if lifetime := v.lifetime(); lifetime > 0 {
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
	case renewing(s):
		return nil
	case s.Connection.Phase == connection.Connected, s.Connection.Phase == connection.Disconnected && isFence(s.Connection.Reason):
		return acceptedUntil(s)
	default:
		return unlessDecided(s, v1alpha1.BindingCredentialsValid, "not known before the provider answers", standing(s)...)
	}
}

// renewing reports whether the provider is asked, at this moment, about a new token, while
// it is connected with the one before.
func renewing(s Snapshot) bool {
	return s.Connection.Phase == connection.Connected && s.Connection.Untried
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
	v := s.Validity
	reason, message := v1alpha1.ReasonAccepted, ""
	switch at := fmt.Sprintf("%s expires at %s", v.What, v.Until.UTC().Format(time.RFC3339)); {
	case v.Until.IsZero():
	case soon(s):
		reason = v1alpha1.ReasonExpiresSoon
		message = at + fmt.Sprintf("; replace what is in Secret %s before", s.Binding.Spec.KubeconfigSecretRef.Name)
	case v.Brief():
		message = v.What + " lasts less than a day: when it expires is shown if it has not been replaced in time"
	default:
		message = at
	}
	return condition(v1alpha1.BindingCredentialsValid, metav1.ConditionTrue, reason, message)
}

// soon reports whether it is time to warn that they expire.
func soon(s Snapshot) bool {
	return !s.Validity.Until.IsZero() && !s.Now.Before(s.Validity.RenewBy())
}

// expirationTime is for the status. What the Secret does not say is unknown.
func expirationTime(s Snapshot) *metav1.Time {
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
