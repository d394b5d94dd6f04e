package syncer

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spillway-io/spillway/internal/connection"
)

// silent is a consumer that answers nothing.
type silent struct{ client.Client }

var errSilent = errors.New("the consumer does not answer")

func (silent) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errSilent
}

func TestAnEngineThatCannotStartEndsTheConnection(t *testing.T) {
	ended := make(chan error, 1)
	ctx := connection.WithEnd(t.Context(), func(err error) { ended <- err })
	if err := (&Engine{Consumer: silent{}}).Engage(ctx, "eu", nil); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, errSilent) || !strings.Contains(err.Error(), "nothing can be synced") {
			t.Errorf("the connection has ended because of %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("the connection goes on, and nothing is synced")
	}
}
