// Package retry reports whether and when to try again what has failed.
package retry

import (
	"errors"
	"net/http"
	"regexp"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
)

// ConflictRetry is when a write that was overtaken is decided anew. By then the
// watch has brought what overtook it: another version, the creation or the
// deletion.
const ConflictRetry = 200 * time.Millisecond

// Done returns err, but for a conflict, and for an object that is not there, or
// is there already: that somebody else wrote in between is no error, the decision
// is only made again. The answer alone is not believed, because no event might
// ever put that right: the watch may have missed what it was about.
func Done(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || IsGone(err) {
		return ctrl.Result{RequeueAfter: ConflictRetry}, nil
	}
	return ctrl.Result{}, err
}

// IsGone reports whether an API server says that an object is not there. One that
// does not know the path of the request, such as that of a newer subresource or
// of a CRD that was removed, does not say that: it is an error like any other.
func IsGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// IgnoreGone returns nil for an error that says that an object is not there.
func IgnoreGone(err error) error {
	if IsGone(err) {
		return nil
	}
	return err
}

const (
	// firstFailure and mostFailure are how long an object waits after requests
	// that failed for no fault of its own: an API server that is overloaded, a
	// connection that is breaking. controller-runtime's longest is 17 minutes,
	// in which nobody looks though all may be well again.
	firstFailure = 100 * time.Millisecond
	mostFailure  = 30 * time.Second
)

// Backoff is the rate limiter of a controller's queue: how long an object waits
// after an error, doubled each time, from 100 milliseconds to half a minute.
func Backoff[T comparable]() workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](firstFailure, mostFailure)
}

// ServerErrorWait bounds how long a server error that lasts waits for the next try:
// it may be over at any time, and nothing will say so.
const ServerErrorWait = mostFailure

// numbers are what may differ between two texts of one error: ports, times, counts.
var numbers = regexp.MustCompile(`[0-9]+`)

// SameError reports whether two texts are of one error. A text that is written each
// time that it has another port in it would be written again and again.
func SameError(a, b string) bool {
	return a == b || numbers.ReplaceAllLiteralString(a, "0") == numbers.ReplaceAllLiteralString(b, "0")
}

// IsServerError reports whether an API server says that it cannot carry out a
// request (500). That it is overloaded, or not there, is another answer. Most
// often one of its admission webhooks does not answer.
func IsServerError(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code == http.StatusInternalServerError
}

// SaysWhy reports whether an error is the verdict of an API server on the request
// itself. Anything else, such as a lost connection, an overloaded server,
// credentials that have expired or a version that was overtaken, says nothing
// about it, and is tried again soon.
func SaysWhy(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500 &&
		!apierrors.IsTooManyRequests(err) && !apierrors.IsUnauthorized(err) && !apierrors.IsConflict(err) && !apierrors.IsTimeout(err)
}

// Sooner is the earlier of two waits, where zero means none.
func Sooner(a, b time.Duration) time.Duration {
	if a <= 0 || (b > 0 && b < a) {
		return b
	}
	return a
}
