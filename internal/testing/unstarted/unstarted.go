// Package unstarted helps to test controllers that engage with a provider, but cannot start because the
// consumer does not answer.
package unstarted

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/provider/connection"
)

// Consumer is a client of a consumer that does not answer.
type Consumer struct{ client.Client }

var errSilent = errors.New("the consumer does not answer")

// Get fails.
func (Consumer) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errSilent
}

// EndsTheConnection calls engage, whose client of the consumer should be a Consumer. It checks that
// this ends the connection, and that the error says what is missing.
func EndsTheConnection(t *testing.T, engage func(context.Context) error, missing string) {
	t.Helper()
	ended := make(chan error, 1)
	if err := engage(connection.WithEnd(t.Context(), func(err error) { ended <- err })); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, errSilent) || !strings.Contains(err.Error(), missing) {
			t.Errorf("the connection has ended because of %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Errorf("the connection goes on: %s", missing)
	}
}
