package engine

import (
	"context"
	"testing"

	"github.com/spillway-io/spillway/internal/provider/fleet"
	"github.com/spillway-io/spillway/internal/testing/unstarted"
)

func TestAnEngineThatCannotStartEndsTheConnection(t *testing.T) {
	engine := &Engine{Consumer: unstarted.Consumer{}}
	unstarted.EndsTheConnection(t, func(ctx context.Context) error { return engine.Engage(ctx, "eu", &fleet.Provider{}) }, "nothing can be synced")
}
