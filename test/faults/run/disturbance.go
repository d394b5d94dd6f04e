package run

import (
	"context"
	"errors"
	"net"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/spillway-io/spillway/test/faults/scenario"
)

// disturbance is what kept a user from doing something, and says nothing of the
// manager.
type disturbance struct{ error }

// unanswered reports whether what a user asked for was not done because of an API
// server that is too busy, or does not answer. What it refuses, or does not find,
// may be the manager's doing.
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
