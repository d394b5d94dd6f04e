package cloud

import (
	"context"
	"errors"
	"fmt"

	"github.com/spillway-io/spillway/hosted/merge"
)

// The kinds of errors of a Client, besides those in cloud.go. After any other error, such as a lost connection,
// nobody knows whether the cloud carried out the request.
var (
	// ErrCredentials: the cloud does not know the credentials, or they have expired.
	ErrCredentials = errors.New("the cloud does not accept the credentials")
	// ErrForbidden: the credentials lack a right. The cloud's own message names it.
	ErrForbidden = errors.New("the credentials lack a right")
	// ErrThrottled: there were too many requests. The cloud did not carry out this one.
	ErrThrottled = errors.New("the cloud throttles requests for now")
	// ErrRefused: the cloud refuses the content of the request, and would refuse it again; or the client refuses
	// to send it. It was not carried out.
	ErrRefused = errors.New("the request is refused")
	// ErrUnsupported: the client cannot do this.
	ErrUnsupported = errors.New("this is not supported yet")
)

// Error describes what a cloud has answered, always in the same words. It leaves out what differs between
// answers, such as the ID of a request.
type Error struct {
	// Doing says what was attempted, and on which cluster.
	Doing string
	// Kind is one of the errors of this package; nil for any other.
	Kind error
	// Message is the cloud's own.
	Message string
	// Cause is the error of the cloud's library.
	Cause error
}

func (e *Error) Error() string {
	text := e.Doing
	for _, limit := range []error{ErrTooMuch, ErrNoRoom} {
		if errors.Is(e.Cause, limit) {
			// The libraries add details that differ between answers.
			return text + ": " + limit.Error()
		}
	}
	for _, part := range []any{e.Kind, e.Message} {
		if part != nil && part != "" {
			text += fmt.Sprintf(": %v", part)
		}
	}
	return text
}

// Unwrap returns the kind and the cause.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Cause} }

// Client reads and changes one cluster, with the credentials of that cluster. It decides nothing, and keeps no
// state between calls. Each call sends a few requests, and waits for no operation.
type Client interface {
	// Table describes the fields of the configuration, and the calls that change them.
	Table() *merge.Table
	// Idempotent reports whether a second Send with the same token changes nothing.
	Idempotent() bool

	// Read reads the cluster and its pools. It returns ErrNotFound if the cluster does not exist.
	Read(ctx context.Context) (Reading, error)

	// Send sends one write of a plan. reading is the state from which the plan was computed. It returns the
	// cloud's name of the operation. If the cloud has no names for operations, it returns "", and Reading.Busy
	// shows whether one is running. ErrBusy: the write was not carried out.
	Send(ctx context.Context, reading Reading, write merge.Write, token string) (operation string, err error)

	// OperationIDs lists the operations of the cluster (item "") or of a pool (its path, as in merge.Write.Item).
	// It lists the operations of all users, running and done, as long as the cloud keeps them. In a cloud that
	// keeps no list, it returns none, and sends no request.
	OperationIDs(ctx context.Context, item string) ([]string, error)
	// Operation returns one of these operations.
	Operation(ctx context.Context, item, id string) (Operation, error)

	// Create requests the cluster with all that the configuration sets. It is not an error if the cluster exists:
	// the token, or else the name, ensures that it is created once. The cluster is being created while
	// Reading.Busy says so.
	Create(ctx context.Context, config map[string]any, token string) error
	// Delete sends the next request of the deletion of the cluster that was read, and of no
	// other cluster of that name. Some clouds require that the pools are deleted first. The
	// caller repeats it until Read returns ErrNotFound. It is not an error if something is
	// deleted already.
	Delete(ctx context.Context, reading Reading, token string) error
}
