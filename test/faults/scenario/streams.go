package scenario

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/api/v1alpha1"
	"github.com/spillway-io/spillway/test/faults/world"
)

// docs/kubelet.md: whatever goes wrong, a command in an offloaded pod goes on, or ends and can be run again.
// It ends with the pod. A command that has ended leaves nothing behind.
var commandRuns = Scenario{
	Name: "command-in-a-pod", Prepare: withPod(world.P1),
	Steps: []Step{runsCommand, {
		Name: "another pod is created meanwhile",
		Do: func(ctx context.Context, w *world.World) error {
			return w.Create(ctx, world.Pod(team, second, world.P1))
		},
		Until: all(podIs(corev1.PodRunning, team, second, world.P1), answers),
	}, {
		Name:  "its user deletes the pod",
		Do:    deleteLocal(&corev1.Pod{}, team, web),
		Until: all(podGone(team, web, world.P1), commandEnded),
	}},
}

// The provider is disconnected while the command runs.
var commandAndProviderAway = Scenario{
	Name: "command-while-the-provider-goes", Prepare: withPod(world.P1),
	Steps: []Step{runsCommand, {
		Name: "all connections to the provider are reset, and no new one is made",
		Do: func(_ context.Context, w *world.World) error {
			w.Proxy(world.P1).Reset()
			return nil
		},
		Until: all(connected(v1alpha1.ReasonUnreachable), commandEnded),
	}, {
		Name: "the provider is back",
		Do: func(_ context.Context, w *world.World) error {
			w.Proxy(world.P1).Heal()
			return nil
		},
		Until: all(bound(world.P1), answers),
	}, commandIsEnded},
}

// The manager is killed while the command runs, and another replica takes over.
var commandAndHandover = Scenario{
	Name: "command-while-the-manager-dies", Prepare: withPod(world.P1),
	Steps: []Step{runsCommand, {
		Name:  "the manager dies, and another replica takes over",
		Do:    func(_ context.Context, w *world.World) error { return w.HandOver() },
		Until: commandEnded,
	}, {
		Name:  "somebody runs it again",
		Until: all(bound(world.P1), answers),
	}, commandIsEnded},
}

var runsCommand = Step{
	Name: "somebody runs a command in it",
	Do: func(ctx context.Context, w *world.World) error {
		return eventually(ctx, w, answers)
	},
}

var commandIsEnded = Step{
	Name: "its user ends the command",
	Do: func(_ context.Context, w *world.World) error {
		w.EndCommand()
		return nil
	},
	Until: commands(0),
}

// answers wants exactly one command to run and to echo its input. If it has ended, answers runs it again.
func answers(ctx context.Context, w *world.World) error {
	if w.Echo() != nil {
		if err := w.Run(ctx, team, web); err != nil {
			return err
		}
		if err := w.Echo(); err != nil {
			return err
		}
	}
	return commands(1)(ctx, w)
}

// commandEnded wants the command to have ended in both clusters.
func commandEnded(ctx context.Context, w *world.World) error {
	if err := w.Ended(); err != nil {
		return err
	}
	return commands(0)(ctx, w)
}

// commands wants n commands to run in the team's pods.
func commands(n int) Func {
	return func(_ context.Context, w *world.World) error {
		if run := w.Commands(world.P1, w.Remote(team)); run != n {
			return fmt.Errorf("%d commands run in provider %s, want %d", run, world.P1, n)
		}
		return nil
	}
}
