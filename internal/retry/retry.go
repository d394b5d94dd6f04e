// Package retry decides whether and when to retry after an error.
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

// ConflictRetry is when to decide again after a write met a conflict. By then the watch shows the cause:
// another version, the creation or the deletion.
const ConflictRetry = 200 * time.Millisecond

// Done requeues on Conflict, NotFound and AlreadyExists, and returns any other error. A write by somebody
// else in between is no error: it only needs a new decision. Done does not wait for an event, because none
// may come: the watch may have missed the cause.
func Done(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || IsGone(err) {
		return ctrl.Result{RequeueAfter: ConflictRetry}, nil
	}
	return ctrl.Result{}, err
}

// IsGone reports whether an API server says that an object does not exist. A 404 for an unknown path, such as
// a newer subresource or a removed CRD, does not count: it is an error like any other.
func IsGone(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

// IgnoreGone returns nil if IsGone, and err otherwise.
func IgnoreGone(err error) error {
	if IsGone(err) {
		return nil
	}
	return err
}

const (
	// firstFailure and mostFailure limit how long an object waits after requests that failed for reasons
	// outside of it, such as an overloaded API server or a lost connection. controller-runtime's maximum is
	// 17 minutes. In that time nobody would notice that the cause is gone.
	firstFailure = 100 * time.Millisecond
	mostFailure  = 30 * time.Second
)

// Backoff returns the rate limiter of a controller's queue. An object waits 100 milliseconds after an error,
// and twice as long each time, up to half a minute.
func Backoff[T comparable]() workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](firstFailure, mostFailure)
}

// ServerErrorWait limits how long a lasting server error delays the next attempt. The error may end at any
// time, and no event reports that.
const ServerErrorWait = mostFailure

// numbers may differ between two texts of one error: ports, times, counts.
var numbers = regexp.MustCompile(`[0-9]+`)

// SameError reports whether two texts describe the same error. If each new port in a text caused a write, the
// writes would never end.
func SameError(a, b string) bool {
	return a == b || numbers.ReplaceAllLiteralString(a, "0") == numbers.ReplaceAllLiteralString(b, "0")
}

// heldUp is the error of a write without an answer. HeldUp reports that others were answered meanwhile.
type heldUp interface {
	error
	HeldUp() bool
}

// IsServerError reports whether an API server says that it cannot carry out a request (500), or does not answer a
// write although it answers other requests, as opposed to being overloaded or gone. The usual cause is an admission
// webhook that does not answer.
func IsServerError(err error) bool {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code == http.StatusInternalServerError
	}
	var write heldUp
	return errors.As(err, &write) && write.HeldUp()
}

// Said returns what an API server says in an error, or how it does not answer a write. It is empty for other errors.
func Said(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	if write := heldUp(nil); errors.As(err, &write) && write.HeldUp() {
		return write.Error()
	}
	return ""
}

// SaysWhy reports whether an error is an API server's verdict on the request itself. Other errors, such as a
// lost connection, an overloaded server, expired credentials or a conflict, say nothing about it. Those are
// retried soon.
func SaysWhy(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500 &&
		!apierrors.IsTooManyRequests(err) && !apierrors.IsUnauthorized(err) && !apierrors.IsConflict(err) && !apierrors.IsTimeout(err)
}

// Sooner returns the shorter of two waits; zero means none.
func Sooner(a, b time.Duration) time.Duration {
	if a <= 0 || (b > 0 && b < a) {
		return b
	}
	return a
}
