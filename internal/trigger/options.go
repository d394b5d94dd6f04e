package trigger

import (
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/spillway-io/spillway/internal/retry"
)

// Options are those of a controller with so many workers, of any type of requests.
func Options[R comparable](mgr manager.Manager, workers int) controller.TypedOptions[R] {
	return controller.TypedOptions[R]{
		MaxConcurrentReconciles: workers,
		RateLimiter:             retry.Backoff[R](),
		// The libraries take this from the manager for controllers of one cluster and
		// their own type of requests only.
		SkipNameValidation: mgr.GetControllerOptions().SkipNameValidation,
	}
}
