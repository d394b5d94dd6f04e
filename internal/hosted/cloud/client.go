package cloud

import (
	"context"
	"errors"
	"fmt"

	"github.com/spillway-io/spillway/internal/hosted/merge"
)

// What the errors of a Client are, beside those of cloud.go. An error that is none of them,
// such as that of a lost connection, leaves open whether a request was carried out.
var (
	// ErrCredentials: the cloud does not know the credentials, or they have expired.
	ErrCredentials = errors.New("the cloud does not accept the credentials")
	// ErrForbidden: the credentials lack a right. The cloud's own message names it.
	ErrForbidden = errors.New("the credentials lack a right")
	// ErrThrottled: there were too many requests. This one was not carried out.
	ErrThrottled = errors.New("the cloud takes no more requests for now")
	// ErrRefused: the cloud refuses the request for what it says, and will do so again; or
	// the client does, before it is sent. It was not carried out.
	ErrRefused = errors.New("the request is refused")
	// ErrUnsupported: the client cannot do it.
	ErrUnsupported = errors.New("this cannot be done yet")
)

// Error is what a cloud has answered, in the same words each time: what differs from one
// answer to the next, such as the ID of a request, is left out.
type Error struct {
	// Doing says what was done, and to which cluster.
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
	if errors.Is(e.Cause, ErrTooMuch) {
		// The libraries say more of it, which differs.
		return text + ": " + ErrTooMuch.Error()
	}
	for _, part := range []any{e.Kind, e.Message} {
		if part != nil && part != "" {
			text += fmt.Sprintf(": %v", part)
		}
	}
	return text
}

// Unwrap returns what it is.
func (e *Error) Unwrap() []error { return []error{e.Kind, e.Cause} }

// Client reads and changes one cluster, with the credentials of that cluster. It decides
// nothing, and remembers nothing between two calls. Each call makes a few requests and
// waits for no operation.
type Client interface {
	// Table describes the configuration.
	Table() *merge.Table
	// Idempotent tells whether Send with the same token changes something but once.
	Idempotent() bool

	// Read reads the cluster and its pools. Without the cluster, it is ErrNotFound.
	Read(ctx context.Context) (Reading, error)

	// Send makes one request of a plan, of which the reading is what it was decided on. It
	// returns the cloud's name of the operation, or "" if there is none: then Reading.Busy
	// tells that it is under way. ErrBusy: it was not carried out.
	Send(ctx context.Context, reading Reading, write merge.Write, token string) (operation string, err error)

	// OperationIDs lists the operations of the cluster, for item "", or of a pool, by its
	// path as in merge.Write.Item: those of anybody, that are under way or done, as far as
	// the cloud keeps them. None, and no request, in a cloud that keeps no list.
	OperationIDs(ctx context.Context, item string) ([]string, error)
	// Operation describes one of them.
	Operation(ctx context.Context, item, id string) (Operation, error)

	// Create asks for the cluster, with all that the configuration sets. The same token, or
	// else the name, makes it be done once: a cluster that is there already is no error.
	// It is made while Reading.Busy says so.
	Create(ctx context.Context, config map[string]any, token string) error
	// Delete makes the next request that it takes to delete the cluster that was read, and
	// no other of the same name: in some clouds the pools have to go first. It is called
	// again until Read has ErrNotFound. What is gone already, or going, is no error.
	Delete(ctx context.Context, reading Reading, token string) error
}
