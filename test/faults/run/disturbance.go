package run

import (
	"context"
	"errors"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/spillway-io/spillway/test/faults/scenario"
)

// disturbance is an error that kept a user from doing something. It says nothing about the manager.
type disturbance struct{ error }

// unanswered reports whether a user's request failed because the API server is too busy or does not answer. A
// refusal or NotFound may be the manager's fault, so it does not count.
func unanswered(err error) bool {
	if unmet := (scenario.Unmet{}); errors.As(err, &unmet) {
		return false
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Code >= http.StatusInternalServerError || status.Status().Code == http.StatusTooManyRequests
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded)
}
