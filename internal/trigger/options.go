package trigger

import (
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/spillway-io/spillway/internal/retry"
)

// Options returns the options of a controller with so many workers, for any type of requests.
func Options[R comparable](mgr manager.Manager, workers int) controller.TypedOptions[R] {
	return controller.TypedOptions[R]{
		MaxConcurrentReconciles: workers,
		RateLimiter:             retry.Backoff[R](),
		// The library takes this from the manager only for its own type of requests.
		SkipNameValidation: mgr.GetControllerOptions().SkipNameValidation,
	}
}
