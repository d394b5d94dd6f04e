package scenario

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/spillway-io/spillway/internal/manager"
	"github.com/spillway-io/spillway/test/faults/world"
)

// The names that scenarios use, unless they say otherwise.
const (
	team     = "team"     // a namespace
	web      = "web"      // a pod
	second   = "second"   // another one
	settings = "settings" // a ConfigMap
	password = "password" // a Secret
	data     = "data"     // a claim, and its volume
	front    = "front"    // a Service
	mount    = "mount"    // the mount namespace of a provider, without the ID of the consumer

	managerNamespace = manager.DefaultNamespace
)

// bind binds providers, and waits until they are usable.
func bind(providers ...string) Func {
	return func(ctx context.Context, w *world.World) error {
		if err := w.Bind(ctx, nil, providers...); err != nil {
			return err
		}
		return eventually(ctx, w, bound(providers...))
	}
}

// bindAndOffload binds providers, and offloads the team's namespace to all of them.
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

// withPod makes the pod run in a provider.
func withPod(provider string) Func {
	return func(ctx context.Context, w *world.World) error {
		if err := bindAndOffload(provider)(ctx, w); err != nil {
			return err
		}
		if err := createPod(provider)(ctx, w); err != nil {
			return err
		}
		return eventually(ctx, w, podIs(corev1.PodRunning, team, web, provider))
	}
}

// withObjects makes a pod run in a provider that needs a ConfigMap and a Secret.
func withObjects(provider string) Func {
	return func(ctx context.Context, w *world.World) error {
		if err := bindAndOffload(provider)(ctx, w); err != nil {
			return err
		}
		return objectsIn(provider)(ctx, w)
	}
}

// objectsIn is withObjects for a namespace that is already offloaded.
func objectsIn(provider string) Func {
	return func(ctx context.Context, w *world.World) error {
		pod := using(world.Pod(team, web, provider), settings, password)
		if err := w.Create(ctx, configMap("1"), secret("1"), pod); err != nil {
			return err
		}
		return eventually(ctx, w, all(podIs(corev1.PodRunning, team, web, provider),
			configMapIs("1", provider, remotely(team, settings)), secretIs("1", provider, remotely(team, password))))
	}
}
