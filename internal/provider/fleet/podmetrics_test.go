package fleet

import (
	"context"
	"errors"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	metricsv1beta1 "k8s.io/metrics/pkg/apis/metrics/v1beta1"

	"github.com/spillway-io/spillway/internal/provider/transport"
)

// TestPodMetrics: what a provider has not got is no failure, and its binding says what is
// missing, in words of our own.
func TestPodMetrics(t *testing.T) {
	resource := schema.GroupResource{Group: "metrics.k8s.io", Resource: "pods"}
	for name, test := range map[string]struct {
		err  error
		says string
		none bool
	}{
		"given":                    {nil, "", false},
		"not allowed":              {apierrors.NewForbidden(resource, "", errors.New("no")), "it does not let Spillway list pods.metrics.k8s.io; apply role_metrics.yaml of provider.yaml there", true},
		"not installed":            {apierrors.NewNotFound(resource, ""), "it does not serve metrics.k8s.io; install metrics-server there, or check that it runs", true},
		"installed, and not there": {apierrors.NewServiceUnavailable("no endpoints"), "it does not serve metrics.k8s.io; install metrics-server there, or check that it runs", true},
		"not in time":              {&transport.TimeoutError{}, "no answer from the provider in time", false},
		"broken":                   {apierrors.NewGenericServerResponse(http.StatusInternalServerError, "list", resource, "", "secret", 0, true), "the provider answered 500 Internal Server Error", false},
		"too large":                {&transport.SizeError{Limit: 8 << 20}, "the answer is larger than 8 MiB", false},
	} {
		t.Run(name, func(t *testing.T) {
			var noted error
			metrics := &PodMetrics{note: func(err error) { noted = err }, list: func(context.Context) (*metricsv1beta1.PodMetricsList, error) {
				return &metricsv1beta1.PodMetricsList{Items: make([]metricsv1beta1.PodMetrics, 2)}, test.err
			}}
			items, err := metrics.List(t.Context())
			var none NoPodMetricsError
			if !errors.Is(err, test.err) || errors.As(err, &none) != test.none || (test.err == nil) != (len(items) == 2) {
				t.Errorf("got %d items, and error %v", len(items), err)
			}
			if got := noMetrics(noted); got != test.says {
				t.Errorf("the binding says %q, want %q", got, test.says)
			}
		})
	}
}
