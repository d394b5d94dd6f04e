package clusterbinding

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/internal/conditions"
	"github.com/spillway-io/spillway/internal/provider/connection"
)

// reasonRotated is the event's reason when a connection uses other credentials than the
// one before: whoever replaced the Secret waits for that.
const reasonRotated = "CredentialsRotated"

// reportRotation reports that new credentials are in use, unless they are renewed so often
// that nobody waits for it.
func (r *Reconciler) reportRotation(o *observed) {
	if o.Credentials != nil || o.Duplicate() || o.Connection.Phase != connection.Connected || o.Connection.Untried {
		return
	}
	before, known := r.accepted.Swap(o.Binding.Name, o.fingerprint)
	if !known || before == o.fingerprint || o.Validity.Brief() {
		return
	}
	note := fmt.Sprintf("connected with the new credentials in Secret %s", o.Binding.Spec.KubeconfigSecretRef.Name)
	if v := o.Validity; !v.Until.IsZero() {
		note += fmt.Sprintf("; %s expires at %s", v.What, v.Until.UTC().Format(time.RFC3339))
	}
	r.Events.Eventf(o.Binding, nil, corev1.EventTypeNormal, reasonRotated, "Connect", "%s", conditions.Note(note))
}

// warnExpiry warns, once, that the credentials expire.
func (r *Reconciler) warnExpiry(before, after *v1alpha1.ClusterBinding) {
	now := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.BindingCredentialsValid)
	if now == nil || now.Reason != v1alpha1.ReasonExpiresSoon ||
		conditions.Reason(before.Status.Conditions, v1alpha1.BindingCredentialsValid) == now.Reason {
		return
	}
	r.Events.Eventf(after, nil, corev1.EventTypeWarning, now.Reason, "Reconcile", "%s", conditions.Note(now.Message))
}

// untilWarned is how long until the warning about the credentials is due, or 0.
func untilWarned(o *observed) time.Duration {
	if at := o.Validity.RenewBy(); at.After(o.Now) {
		return at.Sub(o.Now)
	}
	return 0
}
