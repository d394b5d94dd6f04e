package binding

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
)

// mostNotice is how long before they expire credentials are warned of, at most.
const mostNotice = 7 * 24 * time.Hour

// partOfLifetime is the part of their lifetime that is left when those that last
// shorter are warned of: a fifth. A token for a day is not warned of all day.
const partOfLifetime = 5

// Validity is when credentials can be used, as far as they say.
type Validity struct {
	// What expires, such as "the token".
	What string
	// From and Until are zero where they are not known.
	From, Until time.Time
}

// RenewBy is when it is time to warn that they expire; zero if they do not.
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

// expirationTime is for the status. What the Secret does not tell is not known.
func expirationTime(v Validity) *metav1.Time {
	if v.Until.IsZero() {
		return nil
	}
	at := metav1.NewTime(v.Until.UTC().Truncate(time.Second))
	return &at
}
