package manager

import (
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// Metrics returns how a manager serves its metrics. If they are secured, it serves https, and asks the
// consumer who each client is, and whether that client may get /metrics.
func Metrics(address string, secured bool) metricsserver.Options {
	options := metricsserver.Options{BindAddress: address}
	if secured {
		options.SecureServing, options.FilterProvider = true, filters.WithAuthenticationAndAuthorization
	}
	return options
}
