package scenario

import (
	"context"

	"github.com/spillway-io/spillway/test/faults/world"
)

// team is the namespace of a team, which most scenarios are about.
const team = "team"

var offload = Scenario{
	Name: "offload", Core: true, Prepare: bind(world.P1),
	Steps: []Step{{
		Name:  "a team offloads its namespace",
		Do:    func(ctx context.Context, w *world.World) error { return w.Offload(ctx, team) },
		Until: offloaded(team, world.P1),
	}},
}

// bind binds providers, and waits until they can be used.
func bind(providers ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		if err := w.Bind(ctx, nil, providers...); err != nil {
			return err
		}
		return eventually(ctx, w, all(bound(providers...)))
	}
}

// bindAndOffload binds providers, and offloads the namespace of the team to all
// of them.
func bindAndOffload(providers ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		if err := bind(providers...)(ctx, w); err != nil {
			return err
		}
		if err := w.Offload(ctx, team); err != nil {
			return err
		}
		return eventually(ctx, w, offloaded(team, providers...))
	}
}
